import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import * as oauth from 'oauth4webapi';
import * as v from 'valibot';
import { getJson, ownSandbox, readJson, strings } from '../../support/sandbox.ts';

const openIdSettings = v.strictObject({ issuer: v.string(), audiences: strings });

const { sandbox, credentials } = ownSandbox();

describe('provider_f', () => {
  const settings = () => v.parse(openIdSettings, sandbox().settings.provider_f);

  async function publishedKeys() {
    const issuer = new URL(settings().issuer);
    const options = { [oauth.allowInsecureRequests]: true };
    const response = await oauth.discoveryRequest(issuer, options);
    const server = await oauth.processDiscoveryResponse(issuer, response);
    return createRemoteJWKSet(new URL(server.jwks_uri ?? ''));
  }

  async function verify(idToken: string) {
    const expected = { issuer: settings().issuer, audience: settings().audiences, clockTolerance: 60 };
    return jwtVerify(idToken, await publishedKeys(), expected);
  }

  test('signs id tokens with the key that its discovery leads to', async () => {
    const { id_token: idToken = '' } = await credentials('provider_f', 'fränzi');
    const { payload, protectedHeader } = await verify(idToken);
    expect(protectedHeader).toEqual({ alg: 'ES256', kid: expect.any(String) });
    expect(payload).toEqual({
      iss: settings().issuer,
      sub: 'fränzi',
      aud: settings().audiences[0],
      azp: settings().audiences[0],
      iat: expect.any(Number),
      exp: expect.any(Number),
    });
  });

  test('ends an expired id token an hour ago, and issues it before that', async () => {
    const { id_token: idToken = '' } = await credentials('provider_f', 'franzi', { expired: 'true' });
    await expect(verify(idToken)).rejects.toMatchObject({ code: 'ERR_JWT_EXPIRED' });
    const { iat = 0, exp = 0 } = decodeJwt(idToken);
    expect(iat).toBeLessThan(exp);
  });

  test('names another app as audience and authorized party', async () => {
    const { id_token: idToken = '' } = await credentials('provider_f', 'franzi', { audience: 'another-app' });
    await expect(verify(idToken)).rejects.toMatchObject({ claim: 'aud' });
    expect(decodeJwt(idToken).azp).toBe(decodeJwt(idToken).aud);
  });

  test('gives an access token that the id token vouches for', async () => {
    const issued = await credentials('provider_f', 'franzi', { with_access_token: 'true' });
    const { id_token: idToken = '', access_token: accessToken = '' } = issued;
    const { payload } = await verify(idToken);
    const half = createHash('sha256').update(accessToken).digest().subarray(0, 16);
    expect(payload.at_hash).toBe(half.toString('base64url'));
    expect((await getJson(`${settings().issuer}/me`, accessToken)).body).toEqual({ sub: 'franzi' });
  });

  test('signs whatever claims it is asked to, and leaves out the null ones', async () => {
    const claims = JSON.stringify({ aud: ['x', 'y'], azp: null, iat: 7, nonce: 'n' });
    const { id_token: idToken = '' } = await credentials('provider_f', 'franzi', { claims });
    const { payload } = await jwtVerify(idToken, await publishedKeys());
    expect(payload).toMatchObject({ aud: ['x', 'y'], iat: 7, nonce: 'n', sub: 'franzi' });
    expect(payload).not.toHaveProperty('azp');
  });

  test('publishes only the new key after a rotation; access tokens live on', async () => {
    const before = await credentials('provider_f', 'franzi', { with_access_token: 'true' });
    const rotated = await fetch(`${settings().issuer}/keys/rotate`, { method: 'POST' });
    const { kid } = await readJson(rotated);
    const after = await credentials('provider_f', 'franzi');

    expect((await verify(after.id_token ?? '')).protectedHeader.kid).toBe(kid);
    await expect(verify(before.id_token ?? '')).rejects.toMatchObject({
      code: 'ERR_JWKS_NO_MATCHING_KEY',
    });
    expect((await getJson(`${settings().issuer}/jwks`)).body.keys).toHaveLength(1);
    expect((await getJson(`${settings().issuer}/me`, before.access_token)).status).toBe(200);
    expect((await fetch(`${sandbox().url}/provider_d/keys/rotate`, { method: 'POST' })).status).toBe(404);
  });
});
