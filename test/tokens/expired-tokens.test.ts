import { afterEach, describe, expect, test } from '@jest/globals';
import { clockOffset } from '../support/clock-offset.ts';
import { expectError } from '../support/expectations.ts';
import { ownService } from '../support/own-service.ts';
import { unique } from '../support/service.ts';
import { hexToken } from '../support/tokens.ts';

const lifetime = 600;
const idle = 3_600;
const { running, service } = await ownService(
  { ACCESS_TOKEN_SECONDS: String(lifetime), SESSION_IDLE_SECONDS: String(idle) },
  { movableClock: true },
);
const { directory, advance } = running;

const now = (): number => Math.floor(Date.now() / 1000);
/** Moves the clock of the service to a time, in epoch seconds. */
const moveTo = (time: number): void => advance(time - now() - clockOffset(directory));
afterEach(() => moveTo(now()));

describe('as soon as its time is over, and not a minute before', () => {
  const rejected = { status: 401, error: 'invalid_token' };

  test('a Login User Token: 401', async () => {
    const before = now();
    const { access_token, expires_in } = (await service.logIn(unique('alice'))).body;
    const after = now();
    expect(expires_in).toBe(lifetime);
    moveTo(before + lifetime - 60);
    expect((await service.listDevices(access_token)).status).toBe(200);
    moveTo(after + lifetime);
    expectError(await service.listDevices(access_token), rejected);
  });

  test('a Login App Token: 401', async () => {
    const before = now();
    const token = await service.loginAppToken();
    const after = now();
    const register = () => service.register({ platform: 'ios', token: hexToken() }, token);
    moveTo(before + lifetime - 60);
    expect((await register()).status).toBe(201);
    moveTo(after + lifetime);
    expectError(await register(), rejected);
  });

  test('a session that nobody refreshes: 400', async () => {
    const { refresh } = service;
    const before = now();
    const sessions = [await service.logIn(unique('alice')), await service.logIn(unique('bob'))];
    const after = now();
    const [used, idleOne] = sessions.map(({ body }) => body.refresh_token);
    moveTo(before + idle - 60);
    expect((await refresh(used)).status).toBe(200);
    moveTo(after + idle);
    expectError(await refresh(idleOne), { status: 400, error: 'invalid_grant' });
  });
});
