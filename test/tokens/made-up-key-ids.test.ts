import { expect, test } from '@jest/globals';
import { generateKeyPair, SignJWT } from 'jose';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const { proxy, running, service } = await startServiceWithStore({}, { movableClock: true });

/** A well-formed access token, signed with a key of the attacker's. */
async function forged(): Promise<string> {
  const { privateKey } = await generateKeyPair('ES256');
  return new SignJWT({ token_use: 'login_app', client_id: 'x', jti: 'x' })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: unique('k') })
    .setIssuer(service.demo.base_url)
    .setAudience('x')
    .setSubject('x')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey);
}

test('fifty made-up key ids cause one read at most in ten seconds, and no right token fails meanwhile', async () => {
  const good = await service.loginAppToken();
  const device = { platform: 'android', token: unique('phone') };
  expect((await service.register(device, good)).status).toBe(201);
  const present = async (count: number): Promise<number> => {
    const tokens = await Promise.all(Array.from({ length: count }, forged));
    proxy.forget();
    for (const token of tokens) expect((await service.register(device, token)).status).toBe(401);
    return proxy.calls().length;
  };
  running.advance(11);
  expect(await present(50)).toBe(1);
  expect(await present(50)).toBe(0);
  expect((await service.register(device, good)).status).toBe(200);
  running.advance(11);
  expect(await present(50)).toBe(1);
});
