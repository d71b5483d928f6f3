import { afterEach, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { auditLines, logLine, logLines } from '../support/log-lines.ts';
import { accountOf, newPerson } from '../support/people.ts';
import { asPhone } from '../support/phone.ts';
import { type Answer, now, type Service, serviceOf, unique } from '../support/service.ts';
import { startService } from '../support/start-service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { hexToken } from '../support/tokens.ts';

const minutes = 60;
const days = 86_400;

const { running, service, proxy } = await startServiceWithStore(
  { METRICS_NAMESPACE: 'a-stack' },
  { movableClock: true },
);
afterEach(() => running.resetClock());

const { refresh } = service;

/** Logs in at a provider whose answers the service's own clock does not matter to. */
const logIn = async (): Promise<{ access_token: string; refresh_token: string }> =>
  (await service.logIn(unique('alice'), 'provider_c')).body;

/** The OAuth 1.0 provider looks at the time; so the login comes before the clock moves. */
describe('a session, as time goes by', () => {
  test('a phone that is off for a day in the middle of a refresh: ten more with the old token give one successor', async () => {
    const { refresh_token } = await logIn();
    const lost = await refresh(refresh_token);
    running.advance(days);
    const answers = await Promise.all(Array.from({ length: 10 }, () => refresh(refresh_token)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    const successors = new Set(answers.map(({ body }) => body.refresh_token));
    expect(successors).toEqual(new Set([lost.body.refresh_token]));
    expect((await refresh(lost.body.refresh_token)).status).toBe(200);
  });

  test('sessions list has them in the order in which they started', async () => {
    const subject = unique('alice');
    const started: { at: number; id: unknown; person: unknown }[] = [];
    for (const at of [3, 1, 5, 0, 4, 2]) {
      running.advance(at * minutes);
      const { body } = await service.logIn(subject, 'provider_a');
      const { sid: id, sub: person } = decodeJwt(body.access_token);
      started.push({ at, id, person });
      running.advance(-at * minutes);
    }
    const [{ person } = {}] = started;
    const listed = async (after = {}) =>
      Object(
        await service.operate('sessions', 'list', { 'login-user': person, ...after }),
      ).sessions.map(({ session_id }: { session_id: string }) => session_id);
    const inOrder = started.toSorted((a, b) => a.at - b.at).map(({ id }) => id);
    expect(await listed()).toEqual(inOrder);
    expect(await listed({ after: inOrder[3] })).toEqual(inOrder.slice(4));
  });

  test('the list of a person has the session refreshed last first, and no expired one', async () => {
    const subject = unique('alice');
    const [phone, tablet] = [await newPerson(service, subject), await newPerson(service, subject)];
    const [phoneId, tabletId] = [phone, tablet].map(({ token }) => decodeJwt(token).sid);
    running.advance(60);
    const { access_token, refresh_token } = (await refresh(phone.refreshToken)).body;
    const { sessions } = (await accountOf(service, access_token).sessions()).body;
    expect(sessions).toMatchObject([{ id: phoneId }, { id: tabletId }]);
    const [first] = sessions;
    expect(Date.parse(first.last_used_at) - Date.parse(first.created_at)).toBeGreaterThanOrEqual(
      59_000,
    );
    expect(Date.parse(first.expires_at) - Date.parse(first.last_used_at)).toBe(30 * 86_400_000);
    running.advance(30 * 86_400 - 30);
    const later = (await refresh(refresh_token)).body.access_token;
    expect((await accountOf(service, later).sessions()).body.sessions).toMatchObject([
      { id: phoneId },
    ]);
  });

  test('ends after 30 days without a refresh, by code: the store still has it', async () => {
    const [used, idle] = [await logIn(), await logIn()];
    running.advance(29 * days);
    const later = await refresh(used.refresh_token);
    expect(later.status).toBe(200);
    running.advance(2 * days);
    expect((await refresh(idle.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refresh(later.body.refresh_token)).status).toBe(200);
  });

  test('ends after 365 days in any case, and no access token outlives it', async () => {
    let { access_token, refresh_token } = await logIn();
    const end = Number(decodeJwt(access_token).iat) + 365 * days;
    for (let elapsed = 0; elapsed + 20 < 365; elapsed += 20) {
      running.advance(20 * days);
      const { status, body } = await refresh(refresh_token);
      expect(status).toBe(200);
      refresh_token = body.refresh_token;
    }
    running.advance(4 * days);
    expect((await refresh(refresh_token)).status).toBe(200);
    running.advance(days - 30 * minutes);
    const last = (await refresh(refresh_token)).body;
    const { exp = 0, iat = 0 } = decodeJwt(last.access_token);
    expect(exp).toBeLessThanOrEqual(end);
    expect(last.expires_in).toBe(exp - iat);
    running.advance(days);
    expect((await refresh(refresh_token)).body.error).toBe('invalid_grant');
  });
});

describe('as soon as its time is over, and not a minute before', () => {
  const lifetime = 3600;
  const phone = { platform: 'ios', token: hexToken() };

  test.each<[string, () => Promise<string>, (token: string) => Promise<Answer>]>([
    [
      'a Login User Token',
      async () => (await logIn()).access_token,
      (token) => service.listDevices(token),
    ],
    ['a Login App Token', () => service.loginAppToken(), (token) => service.register(phone, token)],
  ])('%s: 401', async (_, issue, use) => {
    const before = now();
    const token = await issue();
    const after = now();
    running.advance(before + lifetime - 60 - now());
    expect((await use(token)).status).toBeLessThan(300);
    running.resetClock();
    running.advance(after + lifetime - now());
    expectError(await use(token), { status: 401, error: 'invalid_token' });
  });
});

test('grant_type refresh_token: 200 with a new access token and another refresh token, of the same session', async () => {
  const first = await logIn();
  const answer = await refresh(first.refresh_token);
  expectAnswer(answer, 200, tokenResponse);
  expect(answer.body.refresh_token).not.toBe(first.refresh_token);
  const [before, after] = [decodeJwt(first.access_token), decodeJwt(answer.body.access_token)];
  expect([after.sub, after.sid, after.aud]).toEqual([before.sub, before.sid, before.aud]);
  expect(after.jti).not.toBe(before.jti);
  expect((await service.listDevices(answer.body.access_token)).status).toBe(200);
});

test.each(['x', 'rt.', 'a'.repeat(20_000), '__proto__'])(
  '%.20s is no refresh token: 400',
  async (token) => {
    expectError(await refresh(token), { status: 400, error: 'invalid_grant' });
  },
);

test('grant_type refresh_token without a refresh token, or with an empty one: 400 naming it', async () => {
  const naming = 'The parameter refresh_token is required.';
  const error = { status: 400, error: 'invalid_request', naming };
  expectError(await refresh(''), error);
  expectError(await service.token({ grant_type: 'refresh_token' }), error);
});

describe('with a limit for the predecessor of a refresh token', () => {
  const withLimit = async (seconds: number) => {
    const limited = await startService(
      { REFRESH_GRACE_SECONDS: String(seconds) },
      { movableClock: true },
    );
    const { refresh, logIn } = serviceOf(limited.demo, limited.directory);
    const newRefreshToken = async (): Promise<string> =>
      (await logIn(unique('alice'))).body.refresh_token;
    return { limited, newRefreshToken, refresh };
  };

  test('30 seconds: accepted until then; later it ends the session', async () => {
    const { limited, newRefreshToken, refresh } = await withLimit(30);
    const [inTime, tooLate] = [await newRefreshToken(), await newRefreshToken()];
    const successors = await Promise.all([refresh(inTime), refresh(tooLate)]);
    limited.advance(20);
    expect((await refresh(inTime)).body.refresh_token).toBe(successors[0].body.refresh_token);
    limited.advance(11);
    expect((await refresh(tooLate)).body.error).toBe('invalid_grant');
    expect((await refresh(successors[1].body.refresh_token)).body.error).toBe('invalid_grant');
    await limited.stop();
  });

  test('0: never accepted', async () => {
    const { limited, newRefreshToken, refresh } = await withLimit(0);
    const token = await newRefreshToken();
    const successor = (await refresh(token)).body.refresh_token;
    expect((await refresh(successor)).status).toBe(200);
    const another = await newRefreshToken();
    await refresh(another);
    expect((await refresh(another)).body.error).toBe('invalid_grant');
    await limited.stop();
  });
});

test('the predecessor gets the same successor across two processes of one service, ten at once', async () => {
  const second = await startService({ JOIN: running.directory }, { movableClock: true });
  const other = serviceOf(second.demo, second.directory);
  const { refresh_token } = (await service.logIn(unique('alice'))).body;
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => (index % 2 ? service : other).refresh(refresh_token)),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
  await second.stop();
});

function replaying(refresh: Service['refresh']) {
  /** Refreshes, then presents the same token again some seconds later, so many times at once. */
  async function replayed(token: string, seconds: number, times = 1): Promise<Answer[]> {
    await refresh(token);
    running.advance(seconds);
    return Promise.all(Array.from({ length: times }, () => refresh(token)));
  }

  /**
   * The current token after a replay in each of so many generations in a row, all of which were
   * answered with 200.
   */
  async function afterReplays(
    generations: number,
    token: string,
    seconds = 61,
    times = 1,
  ): Promise<string> {
    let current = token;
    for (let generation = 0; generation < generations; generation++) {
      const answers = await replayed(current, seconds, times);
      expect(answers.map(({ status }) => status)).toEqual(Array(times).fill(200));
      current = answers[0]?.body.refresh_token;
    }
    return current;
  }
  return { replayed, afterReplays };
}

describe.each<[string, Service]>([
  ['a confidential client', service],
  ['a phone', await asPhone(service)],
])('a refresh token of %s that comes back late, while its successor has not been used', (_, of) => {
  const { refresh } = of;
  const { replayed, afterReplays } = replaying(refresh);

  test('is found out however often it comes in a generation, which counts once', async () => {
    let token = (await of.logIn(unique('alice'))).body.refresh_token;
    for (let generation = 0; generation < 2; generation++) {
      const successor = await afterReplays(1, token, 61, 8);
      expect((await refresh(token)).status).toBe(200);
      token = successor;
    }
    const [answer] = await replayed(token, 61);
    expect(answer?.status).toBe(400);
  });

  test('in two generations, then not in one, any number of times: the person stays logged in', async () => {
    let token = (await of.logIn(unique('alice'))).body.refresh_token;
    for (let round = 0; round < 3; round++) {
      token = await afterReplays(2, token, days);
      token = (await refresh(token)).body.refresh_token;
    }
    expect((await refresh(token)).status).toBe(200);
  });

  test('again and again in one generation: the person stays logged in', async () => {
    const token = (await of.logIn(unique('alice'))).body.refresh_token;
    await refresh(token);
    for (let times = 0; times < 4; times++) {
      running.advance(days);
      expect((await refresh(token)).status).toBe(200);
    }
  });

  test('within a minute, generation after generation, is an app that refreshes twice', async () => {
    const token = await afterReplays(6, (await of.logIn(unique('alice'))).body.refresh_token, 50);
    expect((await refresh(token)).status).toBe(200);
  });
});

const late = replaying(refresh);

test('a refresh token that comes back late too often: the log, the audit and a metric say why', async () => {
  const { refreshToken, loginUserId: login_user_id } = await newPerson(service);
  await late.replayed(await late.afterReplays(2, refreshToken), 61);
  const line = await logLine(running, 'refresh_token_replayed', { login_user_id });
  expect(line).toMatchObject({ generation: 3, RefreshTokensReplayed: 1 });
  const { session_id } = line;
  const reason = 'refresh_token_replayed';
  expect(await logLine(running, 'token_refused', { login_user_id })).toMatchObject({
    reason,
    session_id,
  });
  const ended = await logLine(running, 'session_ended', { login_user_id });
  expect(ended).toMatchObject({ by: 'reuse', session_id });
  const audited = auditLines(running).findLast((line) => line.login_user_id === login_user_id);
  expect(audited).toMatchObject({ result: 'rejected', reason, session_id });
  expect(logLines(running).filter(({ event }) => event === 'refresh_token_reused')).toEqual([]);
});

const costOfRefresh = async (token: string): Promise<string[]> => {
  proxy.forget();
  await refresh(token);
  return proxy.calls().map(({ operation }) => operation);
};

test('counting costs nothing for a refresh and a replay in time; one write for the first late replay', async () => {
  const token = (await logIn()).refresh_token;
  expect(await costOfRefresh(token)).toEqual(['BatchGetItem', 'UpdateItem']);
  expect(await costOfRefresh(token)).toEqual(['BatchGetItem']);
  running.advance(61);
  await service.token({ grant_type: 'client_credentials' });
  expect(await costOfRefresh(token)).toEqual(['BatchGetItem', 'UpdateItem']);
  expect(await costOfRefresh(token)).toEqual(['BatchGetItem']);
});
