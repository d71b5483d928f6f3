import { describe, expect, test } from '@jest/globals';
import { exportSPKI, SignJWT, UnsecuredJWT } from 'jose';
import { algorithmsOf } from '../../lib/login-apps/client-keys.ts';
import { newClientKey, secretlessClients, signed } from '../support/client-assertions.ts';
import { expectError } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { asClient, now, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();
const { demo, operate } = service;
const { aud, create, createWithKeys, assertion, send } = secretlessClients(service);
const invalidClient = { status: 401, error: 'invalid_client' };
const invalidRequest = { status: 400, error: 'invalid_request' };
const tokenEndpoint = `${aud}/v2/marketing/oauth/token`;

const key = await newClientKey();
const client = await createWithKeys([key]);
const ofClient = { grant_type: 'client_credentials', client_id: client };

/** @see RFC 7523, sections 2.2 and 3; RFC 10070 */
describe('an assertion by a key of the client', () => {
  test.each(['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA', 'Ed25519'])('%s: 200', async (alg) => {
    const other = await newClientKey(alg);
    expect((await send(await assertion(await createWithKeys([other]), other))).status).toBe(200);
  });

  test.each<[string, object, object]>([
    ['no typ, client_id beside', {}, {}],
    ['typ JWT', {}, { typ: 'JWT' }],
    ['typ JWT in full', {}, { typ: 'application/JWT' }],
    ['the typ of the RFC', {}, { typ: 'client-authentication+jwt' }],
    ['an audience in a list', { aud: [aud] }, {}],
    ['ten minutes', { exp: now() + 600 }, {}],
    ['a kid that nobody has registered', {}, { kid: 'unknown' }],
  ])('%s: 200', async (_, claims, header) => {
    expect((await send(await assertion(client, key, claims, header), ofClient)).status).toBe(200);
  });

  test('logs a person in, introspects and revokes', async () => {
    const login = await service.loginForm('provider_f');
    const { access_token, refresh_token } = (await send(await assertion(client, key), login)).body;
    const introspect = async () =>
      send(await assertion(client, key), { token: access_token }, { endpoint: 'introspect' });
    expect((await introspect()).body).toMatchObject({ active: true, client_id: client });
    const next = { grant_type: 'refresh_token', refresh_token };
    expect((await send(await assertion(client, key), next)).status).toBe(200);
    const revoke = { endpoint: 'revoke' };
    expect((await send(await assertion(client, key), { token: access_token }, revoke)).status).toBe(
      200,
    );
    expect((await introspect()).body).toEqual({ active: false });
  });

  test.each<[string, object, object?]>([
    ['the address of the token endpoint as audience', { aud: tokenEndpoint }],
    ['two audiences', { aud: [aud, 'https://other.example.com'] }],
    ['the issuer and the token endpoint', { aud: [aud, tokenEndpoint] }],
    ['the issuer with a slash', { aud: `${aud}/` }],
    ['no audience', { aud: undefined }],
    ['an hour', { exp: now() + 3600 }],
    ['no exp', { exp: undefined }],
    ['an exp that is over', { exp: now() - 60 }],
    ['an nbf that is to come', { nbf: now() + 3600 }],
    ['no jti', { jti: undefined }],
    ['a jti that is no text', { jti: 7 }],
    ['another sub', { sub: 'somebody' }],
    ['no sub', { sub: undefined }],
    ['another iss', { iss: 'https://issuer.example.com' }],
    ['the typ of an access token', {}, { typ: 'at+jwt' }],
    ['the typ of a security event', {}, { typ: 'secevent+jwt' }],
    ['a key set elsewhere in the header', {}, { jku: 'https://keys.example.com' }],
  ])('%s: 401', async (_, claims, header = {}) => {
    expectError(await send(await assertion(client, key, claims, header), ofClient), invalidClient);
  });

  test.each<[string, object, string]>([
    ['another sub', { sub: 'somebody' }, 'is not one of this client.'],
    ['another iss', { iss: 'https://issuer.example.com' }, 'is not one of this client.'],
    ['no exp', { exp: undefined }, 'must have exp, and jti unless another issuer made it;'],
  ])('%s: the error says which rule was broken', async (_, claims, rule) => {
    const { body } = await send(await assertion(client, key, claims), ofClient);
    expect(body.error_description).toContain(`The client assertion ${rule}`);
  });

  test('a key in the header, also that of the client: 401', async () => {
    const own = await newClientKey();
    for (const signer of [own, key])
      expectError(
        await send(await assertion(client, signer, {}, { jwk: signer.jwk })),
        invalidClient,
      );
  });

  test('none, and HS256 with the public key: 401', async () => {
    const claims = { iss: client, sub: client, aud, jti: unique('jti'), exp: now() + 60 };
    expectError(await send(new UnsecuredJWT(claims).encode()), invalidClient);
    const rsa = await newClientKey('RS256');
    const ofRsa = await createWithKeys([rsa]);
    const secret = Buffer.from(await exportSPKI(rsa.publicKey));
    const forged = new SignJWT({ ...claims, iss: ofRsa, sub: ofRsa }).setProtectedHeader({
      alg: 'HS256',
    });
    expectError(await send(await forged.sign(secret)), invalidClient);
    const sub = [`la_${'A'.repeat(22)}.c_${'A'.repeat(22)}`];
    const withList = `e30.${Buffer.from(JSON.stringify({ sub })).toString('base64url')}.x`;
    for (const text of ['x', 'a.b.c', `${await assertion(client, key)}x`, withList])
      expectError(await send(text), invalidClient);
  });

  test('the alg of the key decides: 401 for another that fits its type', async () => {
    const rsa = await newClientKey('RS256');
    const ofRsa = await create({ 'jwks-file': { keys: [{ ...rsa.jwk, alg: 'PS256' }] } });
    expectError(await send(await assertion(ofRsa, rsa)), invalidClient);
  });

  test('of client A as client B, and of another Login App: 401', async () => {
    const [other, otherApp] = await Promise.all([
      newClientKey(),
      createLoginApp(service, unique('app')),
    ]);
    const foreign = await create({ 'jwks-file': { keys: [other.jwk] } }, otherApp.login_app_id);
    const form = { grant_type: 'client_credentials', client_id: foreign };
    expectError(await send(await assertion(client, key), form), invalidClient);
    expectError(await send(await assertion(foreign, key)), invalidClient);
    expectError(await send(await assertion(client, other)), invalidClient);
    expectError(await send(await assertion(demo.login_app.client_id, key)), invalidClient);
    expectError(await send(await assertion(`${client.slice(0, -1)}~`, key)), invalidClient);
  });

  test('a jti counts once, for this client alone, also eight times at once', async () => {
    const jti = unique('jti');
    const once = await assertion(client, key, { jti });
    const answers = await Promise.all(Array.from({ length: 8 }, () => send(once)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(401)]);
    const naming = 'The client assertion must have a jti that was not used before.';
    expectError(await send(await assertion(client, key, { jti })), { ...invalidClient, naming });
    const other = await newClientKey();
    expect(
      (await send(await assertion(await createWithKeys([other]), other, { jti }))).status,
    ).toBe(200);
  });

  test('an assertion that is refused uses up no jti', async () => {
    const jti = unique('jti');
    await send(await assertion(client, await newClientKey(), { jti }));
    await send(await assertion(client, key, { jti, aud: tokenEndpoint }));
    expect((await send(await assertion(client, key, { jti }))).status).toBe(200);
  });

  test('HTTP Basic beside it: 400, whichever of both is right', async () => {
    for (const headers of [asClient(demo.login_app), { authorization: 'Basic x' }]) {
      const answer = await send(await assertion(client, key), undefined, { headers });
      expectError(answer, { ...invalidRequest, naming: /not both/ });
    }
  });

  test.each<[string, [string, string][], object]>([
    ['another type', [['client_assertion_type', 'x']], invalidClient],
    ['no type', [], invalidClient],
    ['two types', Array(2).fill(['client_assertion_type', 'x']), invalidRequest],
  ])('%s', async (_, parameters, expected) => {
    const client_assertion = await assertion(client, key);
    const form = Object.entries({ client_assertion, grant_type: 'client_credentials' });
    const answer = await service.form('/v2/marketing/oauth/token', [...form, ...parameters]);
    expectError(answer, { ...invalidClient, ...expected });
  });

  test('authenticates nobody at other endpoints', async () => {
    const path = `/v2/marketing/providers?client_assertion=${await assertion(client, key)}`;
    expectError(await service.call(path), invalidClient);
  });
});

/** A token of another issuer, whose shape is that of a well-known one. */
const shapes = {
  'AWS STS': {
    alg: 'ES384',
    header: { typ: 'JWT' },
    sub: 'arn:aws:iam::123456789012:role/worker',
    claims: () => ({
      aud,
      jti: 'c3b1',
      iat: now(),
      exp: now() + 3600,
      'https://sts.amazonaws.com/': { aws_account: '123456789012', source_region: 'eu-west-1' },
    }),
  },
  Kubernetes: {
    alg: 'RS256',
    header: {},
    sub: 'system:serviceaccount:push:worker',
    claims: () => ({
      aud: [aud],
      jti: '5b3e7c0a-9d1f-4f5e-8a51-6a5f0d2c4b11',
      iat: now(),
      nbf: now(),
      exp: now() + 3600,
      'kubernetes.io': { namespace: 'push', serviceaccount: { name: 'worker', uid: '8f2d' } },
    }),
  },
  'GitHub Actions': {
    alg: 'RS256',
    header: { typ: 'JWT', x5t: 'ykNaY4qM_ta4k2TgZOCEYLkcYlA' },
    sub: 'repo:example/shop:environment:production',
    claims: () => ({
      aud,
      jti: 'a1',
      iat: now(),
      nbf: now() - 600,
      exp: now() + 300,
      ref: 'refs/heads/main',
    }),
  },
};

/** An issuer with a key, and a client that its tokens about a subject authenticate. */
async function newWorkload({ alg, header, sub, claims }: (typeof shapes)[keyof typeof shapes]) {
  const scene = standIn.openScene();
  const signer = await newClientKey(alg);
  scene.answer('jwks', {
    status: 200,
    body: { keys: [{ ...signer.jwk, kid: 'k1', use: 'sig', alg }] },
  });
  const id = await create({ issuer: scene.url, subject: sub });
  const token = (change: object = {}, by = signer) =>
    signed(by, { iss: scene.url, sub, ...claims(), ...change }, { kid: 'k1', ...header });
  return { scene, id, token, form: { grant_type: 'client_credentials', client_id: id } };
}

const workload = await newWorkload(shapes['AWS STS']);

describe('a token of another issuer', () => {
  test.each(Object.entries(shapes))('%s: 200, more than once', async (_, shape) => {
    const { token, form } = await newWorkload(shape);
    const sent = await token();
    expect([(await send(sent, form)).status, (await send(sent, form)).status]).toEqual([200, 200]);
  });

  test.each<[string, object]>([
    ['another subject', { sub: 'arn:aws:iam::123456789012:role/worker2' }],
    ['a subject that goes on', { sub: `${shapes['AWS STS'].sub}/session` }],
    ['a subject in another case', { sub: shapes['AWS STS'].sub.toUpperCase() }],
    ['another issuer', { iss: 'https://issuer.example.com' }],
    ['two audiences', { aud: [aud, 'sts.amazonaws.com'] }],
    ['another audience', { aud: 'sts.amazonaws.com' }],
    ['an exp two hours away', { exp: now() + 7200 }],
    ['an exp that is over', { exp: now() - 60 }],
    ['no exp', { exp: undefined }],
  ])('%s: 401', async (_, change) => {
    expectError(await send(await workload.token(change), workload.form), invalidClient);
  });

  test('without a client id, with that of another client, or by another key: 401', async () => {
    const [one, two] = [workload, await newWorkload(shapes['AWS STS'])];
    expectError(await send(await one.token()), invalidClient);
    expectError(await send(await one.token(), two.form), invalidClient);
    expectError(
      await send(await one.token({}, await newClientKey('ES384')), one.form),
      invalidClient,
    );
    expectError(await send(await assertion(one.id, key)), invalidClient);
  });

  const subjects = ['arn:aws:iam::123456789012:role/*', '*', 'arn:aws:iam::123456789012:role/'];
  test.each(subjects)('the subject %s is exact, and no pattern', async (subject) => {
    const { scene, token } = workload;
    const id = await create({ issuer: scene.url, subject });
    const form = { grant_type: 'client_credentials', client_id: id };
    expectError(await send(await token(), form), invalidClient);
    expect((await send(await token({ sub: subject }), form)).status).toBe(200);
  });

  test('no issuer is asked but that of the client', async () => {
    const other = standIn.openScene();
    await send(await workload.token({ iss: other.url }), workload.form);
    expect(other.calls('jwks') + other.calls('.well-known/openid-configuration')).toBe(0);
  });

  test('an issuer whose keys cannot be had: 500', async () => {
    const { scene, token, form } = await newWorkload(shapes['AWS STS']);
    scene.answer('jwks', { status: 503 });
    expect((await send(await token(), form)).status).toBe(500);
  });
});

describe('scope=recipients', () => {
  const recipients = (token: string) =>
    service.call('/v2/marketing/push_notifications/recipients?shard=0', {
      headers: { authorization: `Bearer ${token}` },
    });
  const form = { grant_type: 'client_credentials', scope: 'recipients' };

  test('a token that reads recipients and reports dead tokens, and does nothing else', async () => {
    const worker = await createWithKeys([key], {
      'grant-types': 'client_credentials',
      recipients: true,
    });
    const { body } = await send(await assertion(worker, key), form);
    expect(body).toEqual({
      access_token: expect.any(String),
      token_type: 'bearer',
      expires_in: 3600,
    });
    expect((await recipients(body.access_token)).status).toBe(200);
    const unknown = await service.call(
      `/v2/marketing/push_notifications/devices/d_${'A'.repeat(43)}`,
      {
        method: 'DELETE',
        headers: { authorization: `Bearer ${body.access_token}` },
      },
    );
    expectError(unknown, { status: 404, error: 'not_found' });
    const device = { platform: 'android', token: unique('push-token') };
    const invalidToken = { status: 401, error: 'invalid_token' };
    expectError(await service.register(device, body.access_token), invalidToken);
    expectError(await service.listDevices(body.access_token), invalidToken);
    const introspected = (await service.introspect(body.access_token)).body;
    expect(introspected).toMatchObject({
      active: true,
      token_use: 'recipients',
      scope: 'recipients',
    });
    expectError(await recipients(await service.loginAppToken()), invalidToken);
    await operate('clients', 'revoke', {
      'login-app': demo.login_app.login_app_id,
      client: worker,
    });
  });

  test('is not for a client without the right', async () => {
    const limited = await createWithKeys([key], { 'grant-types': 'client_credentials' });
    const mayNot = { error: 'unauthorized_client', naming: 'The client may not read recipients.' };
    expectError(await send(await assertion(limited, key), form), { status: 400, ...mayNot });
    const plain = (await send(await assertion(limited, key))).body.access_token;
    expectError(await recipients(plain), { status: 401, error: 'invalid_token' });
  });
});

const { jwk: a } = key;
const { jwk: b } = await newClientKey('ES384');
const { jwk: c } = await newClientKey('Ed25519');
const { jwk: rsa } = await newClientKey('RS256');

describe('clients create and rotate', () => {
  const jwks = (...keys: object[]) => ({ 'jwks-file': { keys } });

  test.each<[string, flags: object, RegExp]>([
    ['no key set', { 'jwks-file': [] }, /must be a JSON object with the list keys/],
    ['no key', jwks(), /one or 2 JSON Web Keys/],
    ['three keys', jwks(a, b, c), /one or 2 JSON Web Keys/],
    ['a private key', jwks({ ...a, d: 'AA' }), /has a secret key/],
    ['a secret', jwks({ kty: 'oct', k: 'AA' }), /has a secret key/],
    ['another curve', jwks({ ...a, crv: 'P-521' }), /of another kind than RSA, P-256/],
    ['a broken key', jwks(b, { ...a, x: 'AA' }), /has a key that is broken/],
    ['a short RSA key', jwks({ ...rsa, n: `w${'A'.repeat(169)}E` }), /2048 to 8192 bits/],
    ['a long RSA key', jwks({ ...rsa, n: `w${'A'.repeat(2_729)}E` }), /2048 to 8192 bits/],
    [
      'an RSA key with an even modulus',
      jwks({ ...rsa, n: `w${'A'.repeat(341)}` }),
      /2048 to 8192 bits/,
    ],
    ['an RSA key with the exponent 1', jwks({ ...rsa, e: 'AQ' }), /an odd exponent from 3/],
    ['an RSA key with an even exponent', jwks({ ...rsa, e: 'AQAC' }), /an odd exponent from 3/],
    [
      'an RSA key with a long exponent',
      jwks({ ...rsa, e: `AQ${'A'.repeat(20)}B` }),
      /an odd exponent/,
    ],
    ['an RSA key without a modulus', jwks({ kty: 'RSA', e: 'AQAB' }), /2048 to 8192 bits/],
    ['another alg', jwks({ ...a, alg: 'RS256' }), /of another alg or use/],
    ['another use', jwks({ ...a, use: 'enc' }), /of another alg or use/],
    ['keys and an issuer', { ...jwks(a), issuer: 'https://x.example' }, /Give --jwks-file/],
    ['an issuer alone', { issuer: 'https://x.example.com' }, /--issuer and --subject together/],
    [
      'an IP address',
      { issuer: 'https://10.0.0.1', subject: 's' },
      /^--issuer: must name its host/,
    ],
    ['an issuer without keys', { issuer: `${standIn.url}/none/x`, subject: 's' }, /^--issuer: /],
  ])('%s: an error, and no client', async (_, flags, message) => {
    await expect(create(flags)).rejects.toThrow(message);
  });

  test('an RSA key that proves nothing verifies nothing, even if it was registered before', () => {
    const proved = [rsa, { ...rsa, e: 'AQ' }].map(({ kty = '', n = '', e = '' }) =>
      algorithmsOf({ kty, n, e }),
    );
    expect(proved).toEqual([['RS256', 'PS256'], []]);
  });

  test('a second key works at once, a third is refused, and the last one stays', async () => {
    const [one, two] = await Promise.all([newClientKey(), newClientKey()]);
    const id = await createWithKeys([one]);
    await send(await assertion(id, one));
    const about = { 'login-app': demo.login_app.login_app_id, client: id };
    const rotate = ({ jwk }: typeof key) =>
      operate('clients', 'rotate', { ...about, ...jwks(jwk) });
    expect(await rotate(two)).toMatchObject({
      key_thumbprints: [two.thumbprint],
      old_keys: [{ thumbprint: one.thumbprint }],
    });
    expect((await send(await assertion(id, two))).status).toBe(200);
    expect((await send(await assertion(id, one))).status).toBe(200);
    await expect(rotate(key)).rejects.toThrow(/at most 2 keys/);
    await expect(operate('clients', 'rotate', about)).rejects.toThrow(/give --jwks-file/);
    const revoke = (flags: object) => operate('clients', 'revoke', { ...about, ...flags });
    const both = { key: one.thumbprint, secret: `sec_${'A'.repeat(22)}` };
    await expect(revoke(both)).rejects.toThrow(/not both/);
    await revoke({ key: one.thumbprint });
    await expect(revoke({ key: one.thumbprint })).rejects.toThrow(/has no such key/);
    await expect(revoke({ key: two.thumbprint })).rejects.toThrow(/only key/);
    const left = { secrets: [], keys: [{ thumbprint: two.thumbprint }] };
    expect(await operate('clients', 'show', { client: id })).toMatchObject(left);
  });

  test('a client moves from a secret to a key, and its sessions go on', async () => {
    const app = await createLoginApp(service, unique('app'), { providers: ['provider_f'] });
    const { refresh_token } = (await service.logIn(unique('alice'), 'provider_f', app)).body;
    const own = await newClientKey();
    const about = { 'login-app': app.login_app_id, client: app.client_id };
    await operate('clients', 'rotate', { ...about, ...jwks(own.jwk) });
    const { secrets } = Object(await operate('clients', 'show', { client: app.client_id }));
    await operate('clients', 'revoke', { ...about, secret: secrets[0].secret_id });
    const form = { grant_type: 'refresh_token', refresh_token };
    expect((await send(await assertion(app.client_id, own), form)).status).toBe(200);
  });
});
