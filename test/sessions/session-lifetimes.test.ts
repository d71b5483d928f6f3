import { describe, expect, test } from '@jest/globals';
import { ownService } from '../support/own-service.ts';
import { type Answer, serviceOf, unique } from '../support/service.ts';
import { startService } from '../support/start-service.ts';

const minutes = 60;
const days = 86_400;

const { running, service } = await ownService({}, { movableClock: true });

const refresh = (refresh_token: string): Promise<Answer> =>
  service.token({ grant_type: 'refresh_token', refresh_token });

/** Logs in at a provider whose answers the service's own clock does not matter to. */
const logIn = async (): Promise<{ access_token: string; refresh_token: string }> =>
  (await service.logIn(unique('alice'), 'provider_c')).body;

/** The OAuth 1.0 provider looks at the time; so the login comes before the clock moves. */
describe('a session, as time goes by', () => {
  test('the predecessor of a refresh token: accepted for 30 s, after that it ends the session', async () => {
    const [inTime, tooLate] = [await logIn(), await logIn()];
    const successors = await Promise.all([refresh(inTime.refresh_token), refresh(tooLate.refresh_token)]);
    running.advance(29);
    expect((await refresh(inTime.refresh_token)).body.refresh_token).toBe(successors[0].body.refresh_token);
    running.advance(3);
    expect((await refresh(tooLate.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refresh(successors[1].body.refresh_token)).body.error).toBe('invalid_grant');
    running.advance(-32);
  });

  test('an access token expires after expires_in seconds', async () => {
    const { access_token } = await logIn();
    const appToken = await service.loginAppToken();
    const device = async () =>
      (await service.register({ platform: 'android', token: 'phone' }, await service.loginAppToken())).body
        .id;
    running.advance(59 * minutes);
    expect((await service.relate(await device(), access_token)).status).toBe(200);
    running.advance(2 * minutes);
    const answer = await service.relate(await device(), access_token);
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid_token']);
    expect((await service.register({ platform: 'android', token: 'phone' }, appToken)).status).toBe(401);
    running.advance(-61 * minutes);
  });

  test('ends after 30 days without a refresh, by code: the store still has it', async () => {
    const [used, idle] = [await logIn(), await logIn()];
    running.advance(29 * days);
    const later = await refresh(used.refresh_token);
    expect(later.status).toBe(200);
    running.advance(2 * days);
    expect((await refresh(idle.refresh_token)).body.error).toBe('invalid_grant');
    expect((await refresh(later.body.refresh_token)).status).toBe(200);
    running.advance(-31 * days);
  });

  test('ends after 365 days in any case', async () => {
    let { refresh_token } = await logIn();
    for (let elapsed = 0; elapsed + 20 < 365; elapsed += 20) {
      running.advance(20 * days);
      const { status, body } = await refresh(refresh_token);
      expect(status).toBe(200);
      refresh_token = body.refresh_token;
    }
    running.advance(4 * days);
    expect((await refresh(refresh_token)).status).toBe(200);
    running.advance(2 * days);
    expect((await refresh(refresh_token)).body.error).toBe('invalid_grant');
  });
});

describe('two processes of one service', () => {
  test('the predecessor gets the same successor across processes, ten at once', async () => {
    const first = await startService();
    const second = await startService({ JOIN: first.directory });
    const [one, other] = [first, second].map(({ demo, directory }) => serviceOf(demo, directory));
    if (!one || !other) throw new Error('There are two.');
    const { refresh_token } = (await one.logIn(unique('alice'))).body;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        (index % 2 ? one : other).token({ grant_type: 'refresh_token', refresh_token }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(new Set(answers.map(({ body }) => body.refresh_token)).size).toBe(1);
    await second.stop();
    await first.stop();
  });
});
