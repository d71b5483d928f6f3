import { afterEach, describe, expect, test } from '@jest/globals';
import { auditLines, logLine, logLines } from '../support/log-lines.ts';
import { newPerson } from '../support/people.ts';
import { type Answer, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const days = 86_400;

const { running, service, proxy } = await startServiceWithStore(
  { METRICS_NAMESPACE: 'a-stack' },
  { movableClock: true },
);
afterEach(() => running.resetClock());

const { refresh } = service;

const logIn = async (): Promise<string> =>
  (await service.logIn(unique('alice'), 'provider_c')).body.refresh_token;

/** Refreshes, then presents the same token again some seconds later, so many times at once. */
async function replayed(token: string, seconds: number, times = 1): Promise<Answer[]> {
  await refresh(token);
  running.advance(seconds);
  return Promise.all(Array.from({ length: times }, () => refresh(token)));
}

/** The current token after a replay in each of so many generations in a row, all of which were answered with 200. */
async function afterReplays(generations: number, token: string, seconds = 61, times = 1): Promise<string> {
  let current = token;
  for (let generation = 0; generation < generations; generation++) {
    const answers = await replayed(current, seconds, times);
    expect(answers.map(({ status }) => status)).toEqual(Array(times).fill(200));
    current = answers[0]?.body.refresh_token;
  }
  return current;
}

describe('a refresh token that comes back late, while its successor has not been used', () => {
  test('is found out however often it comes in a generation, which counts once', async () => {
    let token = await logIn();
    for (let generation = 0; generation < 2; generation++) {
      const successor = await afterReplays(1, token, 61, 8);
      expect((await refresh(token)).status).toBe(200);
      token = successor;
    }
    const [answer] = await replayed(token, 61);
    expect(answer?.status).toBe(400);
  });

  test('in two generations, then not in one, any number of times: the person stays logged in', async () => {
    let token = await logIn();
    for (let round = 0; round < 3; round++) {
      token = await afterReplays(2, token, days);
      token = (await refresh(token)).body.refresh_token;
    }
    expect((await refresh(token)).status).toBe(200);
  });

  test('again and again in one generation: the person stays logged in', async () => {
    const token = await logIn();
    await refresh(token);
    for (let times = 0; times < 4; times++) {
      running.advance(days);
      expect((await refresh(token)).status).toBe(200);
    }
  });

  test('within a minute, generation after generation, is an app that refreshes twice', async () => {
    const token = await afterReplays(6, await logIn(), 50);
    expect((await refresh(token)).status).toBe(200);
  });

  test('says why: in the log, in the audit, as a metric', async () => {
    const { refreshToken, loginUserId: login_user_id } = await newPerson(service);
    await replayed(await afterReplays(2, refreshToken), 61);
    const line = await logLine(running, 'refresh_token_replayed', { login_user_id });
    expect(line).toMatchObject({ generation: 3, RefreshTokensReplayed: 1 });
    const { session_id } = line;
    const reason = 'refresh_token_replayed';
    expect(await logLine(running, 'token_refused', { login_user_id })).toMatchObject({ reason, session_id });
    expect(await logLine(running, 'session_ended', { login_user_id })).toMatchObject({
      by: 'reuse',
      session_id,
    });
    expect(auditLines(running).findLast((line) => line.login_user_id === login_user_id)).toMatchObject({
      result: 'rejected',
      reason,
      session_id,
    });
    expect(logLines(running).filter(({ event }) => event === 'refresh_token_reused')).toEqual([]);
  });
});

describe('what counting costs', () => {
  const costOfRefresh = async (token: string): Promise<string[]> => {
    proxy.forget();
    await refresh(token);
    return proxy.calls().map(({ operation }) => operation);
  };

  test('nothing for a refresh and for a replay in time; one write for the first late replay', async () => {
    const token = await logIn();
    expect(await costOfRefresh(token)).toEqual(['BatchGetItem', 'UpdateItem']);
    expect(await costOfRefresh(token)).toEqual(['BatchGetItem']);
    running.advance(61);
    await service.token({ grant_type: 'client_credentials' });
    expect(await costOfRefresh(token)).toEqual(['BatchGetItem', 'UpdateItem']);
    expect(await costOfRefresh(token)).toEqual(['BatchGetItem']);
  });
});
