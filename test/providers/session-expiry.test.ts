import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectError } from '../support/expectations.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { writtenDuring } from '../support/log-lines.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const { service, running } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();
const { now } = running;

/** A login with an id token of this `session_expiry`. */
async function logInUntil(session_expiry: unknown) {
  const { app, scene, subject } = await newIssuerLogin(service, standIn);
  const id_token = await scene.idToken({ sub: subject, iat: now(), session_expiry });
  return { app, ...(await service.byIdToken(id_token, app)) };
}

test.each([
  ['a number', () => now() + 600],
  ['a number with a fraction', () => now() + 600.5],
  ['a number as text', () => String(now() + 600)],
])('session_expiry, %s: neither token ends later, also after a refresh', async (_, until) => {
  const end = now() + 600;
  const { app, body } = await logInUntil(until());
  const refreshed = await service.refresh(body.refresh_token, app);
  for (const tokens of [body, refreshed.body]) {
    const { exp = Infinity } = decodeJwt(tokens.access_token);
    expect(exp).toBeLessThanOrEqual(end + 2);
    expect(tokens.refresh_token_expires_in).toBeLessThanOrEqual(602);
    expect(tokens.expires_in).toBeLessThanOrEqual(602);
  }
});

test('session_expiry after the longest session changes nothing', async () => {
  const { body } = await logInUntil(now() + 10 * 365 * 86_400);
  const usual = await logInUntil(undefined);
  expect(body.expires_in).toBe(usual.body.expires_in);
  expect(body.refresh_token_expires_in).toBe(usual.body.refresh_token_expires_in);
});

test('session_expiry that is over: 400, nobody is logged in', async () => {
  expectError(await logInUntil(now() - 1), { status: 400, error: 'invalid_grant' });
});

// The last two are the longest that some senders can write, which stands for no end.
test.each([['tomorrow'], [true], [{}], [[1]], [2 ** 63], [1e300]])(
  'session_expiry %j counts not, and the log says so',
  async (told) => {
    const written = await writtenDuring(running, async () =>
      expect((await logInUntil(told)).status).toBe(200),
    );
    expect(written).toContain('"fields":"session_expiry"');
  },
);
