import { createHash, createHmac } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createRemoteJWKSet, decodeJwt, jwtVerify } from 'jose';
import OAuth from 'oauth-1.0a';
import * as oauth from 'oauth4webapi';
import * as v from 'valibot';
import { hmacSha1Signature, signatureBaseString } from '../../infra/local/sandbox/oauth1-signature.ts';
import { type Sandbox, startSandbox } from '../../infra/local/sandbox/sandbox.ts';
import type { ProviderId } from '../../lib/providers/identifiers.ts';

const userInfo = (field: string) => v.strictObject({ url: v.string(), subject_field: v.literal(field) });
const strings = v.array(v.string());

const introspectionSettings = v.object({
  user_info: userInfo('sub'),
  app_check: v.strictObject({
    method: v.literal('introspection'),
    url: v.string(),
    client_id: v.string(),
    client_secret: v.string(),
    audiences: strings,
  }),
});
const codeSettings = v.object({
  authorization_code: v.strictObject({
    token_url: v.string(),
    client_id: v.string(),
    client_secret: v.string(),
    redirect_uri: v.literal('https://app.example/callback'),
  }),
});
const oauth1Settings = v.strictObject({
  verify_url: v.string(),
  consumer_key: v.string(),
  consumer_secret: v.string(),
  subject_field: v.literal('id_str'),
});
const tokenInfoSettings = v.strictObject({
  user_info: userInfo('id'),
  app_check: v.strictObject({
    method: v.literal('token_info'),
    url: v.string(),
    token_parameter: v.literal('access_token'),
    audience_field: v.literal('aud'),
    subject_field: v.literal('user_id'),
    audiences: strings,
  }),
});
const debugTokenSettings = v.strictObject({
  user_info: userInfo('id'),
  app_check: v.strictObject({
    method: v.literal('token_info'),
    url: v.string(),
    token_parameter: v.literal('input_token'),
    app_token_parameter: v.literal('access_token'),
    app_token_secret: v.string(),
    audience_field: v.literal('data.app_id'),
    valid_field: v.literal('data.is_valid'),
    subject_field: v.literal('data.user_id'),
    audiences: strings,
  }),
});
const tokenResponse = v.object({ access_token: v.string(), token_type: v.literal('Bearer') });
const openIdSettings = v.strictObject({ issuer: v.string(), audiences: strings });

let sandbox: Sandbox;
const printed: unknown[] = [];

beforeAll(async () => {
  for (const method of ['log', 'info', 'warn', 'error'] as const) {
    jest.spyOn(console, method).mockImplementation((...text) => void printed.push(...text));
  }
  sandbox = await startSandbox();
});

afterAll(async () => {
  await sandbox.close();
  expect(printed).toEqual([]);
});

async function getJson(url: string, bearer?: string) {
  const response = await fetch(url, bearer ? { headers: { authorization: `Bearer ${bearer}` } } : {});
  return { status: response.status, body: await readJson(response) };
}

async function readJson(response: Response): Promise<Record<string, unknown>> {
  return v.parse(v.record(v.string(), v.unknown()), await response.json());
}

function credentialsUrl(provider: string, subject: string, more: Record<string, string> = {}): string {
  return `${sandbox.url}/${provider}/credentials?${new URLSearchParams({ subject, ...more })}`;
}

async function credentials(provider: ProviderId, subject: string, more: Record<string, string> = {}) {
  const { status, body } = await getJson(credentialsUrl(provider, subject, more));
  expect(status).toBe(200);
  return v.parse(v.record(v.string(), v.string()), body);
}

async function setFault(provider: ProviderId, endpoint: string, fault: unknown): Promise<number> {
  const body = JSON.stringify({ endpoint, fault });
  return (await fetch(`${sandbox.url}/${provider}/fault`, { method: 'PUT', body })).status;
}

describe('credentials', () => {
  const fields = {
    provider_a: ['access_token'],
    provider_b: ['access_token', 'authorization_code'],
    provider_c: ['access_secret', 'access_token'],
    provider_d: ['access_token'],
    provider_e: ['access_token'],
    provider_f: ['id_token'],
  };

  test.each(Object.entries(fields))('%s gives the fields of its login request', async (provider, names) => {
    const [first, second] = await Promise.all([
      getJson(credentialsUrl(provider, 'alice')),
      getJson(credentialsUrl(provider, 'alice', { expired: 'true', audience: 'another-app' })),
    ]);
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(Object.keys(first.body).sort()).toEqual(names);
    expect(Object.keys(second.body).sort()).toEqual(names);
    for (const name of names) expect(first.body[name]).not.toBe(second.body[name]);
  });

  test('a missing or empty subject is a 400 that names it', async () => {
    for (const query of ['', '?subject=']) {
      const { status, body } = await getJson(`${sandbox.url}/provider_a/credentials${query}`);
      expect(status).toBe(400);
      expect(body).toEqual({
        error: 'invalid_request',
        error_description: expect.stringContaining('subject'),
      });
    }
  });

  test('an audience, a flag or claims that make no sense are a 400', async () => {
    for (const wrong of [{ audience: 'x' }, { expired: '1' }, { claims: '{' }, { claims: '3' }]) {
      expect((await getJson(credentialsUrl('provider_f', 'alice', wrong))).status).toBe(400);
    }
  });

  test('an unknown provider is a 404', async () => {
    for (const provider of ['provider_g', '__proto__', 'constructor']) {
      const { status, body } = await getJson(credentialsUrl(provider, 'alice'));
      expect([status, body.error]).toEqual([404, 'not_found']);
    }
  });
});

describe.each(['provider_a', 'provider_b'] as const)('%s', (provider) => {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const settings = () => v.parse(introspectionSettings, sandbox.settings[provider]);
  const server = (): oauth.AuthorizationServer => ({
    issuer: `${sandbox.url}/${provider}`,
    introspection_endpoint: settings().app_check.url,
    userinfo_endpoint: settings().user_info.url,
  });

  async function introspect(token: string, secret = settings().app_check.client_secret) {
    const client = { client_id: settings().app_check.client_id };
    const basic = oauth.ClientSecretBasic(secret);
    const response = await oauth.introspectionRequest(server(), client, basic, token, insecure);
    return oauth.processIntrospectionResponse(server(), client, response);
  }

  test('tells the subject of an access token, and the app it was issued to', async () => {
    const subject = `ålice 日本 👩‍🚀 ${provider}`;
    const { access_token: token = '' } = await credentials(provider, subject);
    expect(await getJson(settings().user_info.url, token)).toEqual({ status: 200, body: { sub: subject } });
    const [audience] = settings().app_check.audiences;
    expect(await introspect(token)).toMatchObject({ active: true, client_id: audience, sub: subject });
  });

  test('refuses introspection to a client with a wrong secret', async () => {
    const { access_token: token = '' } = await credentials(provider, 'alice');
    await expect(introspect(token, 'wrong')).rejects.toMatchObject({ status: 401 });
  });

  test('does not know an expired or made-up token', async () => {
    const { access_token: expired = '' } = await credentials(provider, 'alice', { expired: 'true' });
    for (const token of [expired, 'made-up']) {
      expect((await getJson(settings().user_info.url, token)).status).toBe(401);
      expect(await introspect(token)).toEqual({ active: false });
    }
  });

  test("shows another app's token as active and another app's", async () => {
    const { access_token: token = '' } = await credentials(provider, 'alice', { audience: 'another-app' });
    expect((await getJson(settings().user_info.url, token)).status).toBe(200);
    const answer = await introspect(token);
    expect(answer.active).toBe(true);
    expect(settings().app_check.audiences).not.toContain(answer.client_id);
  });
});

describe('provider_b', () => {
  const settings = () => v.parse(codeSettings, sandbox.settings.provider_b).authorization_code;
  const userInfoUrl = () => v.parse(introspectionSettings, sandbox.settings.provider_b).user_info.url;

  function exchange(
    code: string,
    { secret = settings().client_secret, uri = 'https://app.example/callback' } = {},
  ) {
    const server = { issuer: `${sandbox.url}/provider_b`, token_endpoint: settings().token_url };
    const parameters = { code, redirect_uri: uri };
    return oauth.genericTokenEndpointRequest(
      server,
      { client_id: settings().client_id },
      oauth.ClientSecretBasic(secret),
      'authorization_code',
      parameters,
      { [oauth.allowInsecureRequests]: true },
    );
  }

  async function refusal(response: Response) {
    return [response.status, (await readJson(response)).error];
  }

  test('exchanges a code once; a replay also ends the token that it gave', async () => {
    const { authorization_code: code = '', access_token: other = '' } = await credentials(
      'provider_b',
      'bob',
    );
    const first = await exchange(code);
    expect(first.status).toBe(200);
    const { access_token: token } = v.parse(tokenResponse, await first.json());
    expect((await getJson(userInfoUrl(), token)).body).toEqual({ sub: 'bob' });

    expect(await refusal(await exchange(code))).toEqual([400, 'invalid_grant']);
    expect((await getJson(userInfoUrl(), token)).status).toBe(401);
    expect((await getJson(userInfoUrl(), other)).status).toBe(200);
  });

  test('gives a token to only one of eight exchanges at once', async () => {
    const { authorization_code: code = '' } = await credentials('provider_b', 'bob');
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(400)]);
  });

  test('refuses a wrong secret, redirect URI or made-up code', async () => {
    const { authorization_code: code = '' } = await credentials('provider_b', 'bob');
    expect(await refusal(await exchange(code, { secret: 'wrong' }))).toEqual([401, 'invalid_client']);
    const elsewhere = { uri: 'https://app.example/elsewhere' };
    expect(await refusal(await exchange(code, elsewhere))).toEqual([400, 'invalid_grant']);
    expect(await refusal(await exchange('made-up'))).toEqual([400, 'invalid_grant']);
  });

  test.each([{ expired: 'true' }, { audience: 'another-app' }])('refuses a code with %j', async (more) => {
    const { authorization_code: code = '' } = await credentials('provider_b', 'bob', more);
    expect(await refusal(await exchange(code))).toEqual([400, 'invalid_grant']);
  });
});

describe('OAuth 1.0 signatures', () => {
  const protocol = (consumerKey: string, token: string, timestamp: string, nonce: string) =>
    [
      ['oauth_consumer_key', consumerKey],
      ['oauth_token', token],
      ['oauth_signature_method', 'HMAC-SHA1'],
      ['oauth_timestamp', timestamp],
      ['oauth_nonce', nonce],
    ] as const;

  test('match RFC 5849, section 1.2', () => {
    const baseString = signatureBaseString({
      method: 'GET',
      url: 'http://photos.example.net/photos?file=vacation.jpg&size=original',
      parameters: protocol('dpf43f3p2l4k3l03', 'nnch734d00sl2jdk', '137131202', 'chapoH'),
    });
    const signature = hmacSha1Signature(baseString, 'kd94hf93k423kf44', 'pfkkdhi9sl3r4s00');
    expect(signature).toBe('MdpQcU8iPSUjWoN/UDMsK2sui9I=');
  });

  test('are made over the base string of RFC 5849, section 3.4.1.1', () => {
    const baseString = signatureBaseString({
      method: 'post',
      url: 'http://EXAMPLE.COM:80/request?b5=%3D%253D&a3=a&c%40=&a2=r%20b',
      parameters: [
        ...protocol('9djdj82h48djs9d2', 'kkk9d7dh3k39sjv7', '137131201', '7d8f3e4a'),
        ['c2', ''],
        ['a3', '2 q'],
      ],
    });
    expect(baseString).toBe(
      'POST&http%3A%2F%2Fexample.com%2Frequest&a2%3Dr%2520b%26a3%3D2%2520q%26a3%3Da%26b5%3D%253D%25253D' +
        '%26c%2540%3D%26c2%3D%26oauth_consumer_key%3D9djdj82h48djs9d2%26oauth_nonce%3D7d8f3e4a' +
        '%26oauth_signature_method%3DHMAC-SHA1%26oauth_timestamp%3D137131201%26oauth_token%3Dkkk9d7dh3k39sjv7',
    );
  });

  test("match Twitter's documentation, 'Creating a signature'", () => {
    const token = '370773112-GmHxMAgYyLbNEtIKZeRNFsMKPR9EyMZeS9weJAEb';
    const nonce = 'kYjzVBB8Y0ZFabxSWbWovY3uYSQ2pTgmZeNu2VS4cg';
    const baseString = signatureBaseString({
      method: 'POST',
      url: 'https://api.twitter.com/1.1/statuses/update.json?include_entities=true',
      parameters: [
        ...protocol('xvz1evFS4wEEPTGEFPHBog', token, '1318622958', nonce),
        ['oauth_version', '1.0'],
        ['status', 'Hello Ladies + Gentlemen, a signed OAuth request!'],
      ],
    });
    const consumerSecret = 'kAcSOqF21Fu85e7zjz7ZN2U4ZRhfV3WpwPAoE3Z7kBw';
    const tokenSecret = 'LswwdoUaIvS8ltyTt5jkRh4J50vUPVVHtR2YPi5kE';
    const signature = hmacSha1Signature(baseString, consumerSecret, tokenSecret);
    expect(signature).toBe('hCtSmYh+iHYCEqBWrE7C7hYmtUk=');
  });
});

describe('provider_c', () => {
  const settings = () => v.parse(oauth1Settings, sandbox.settings.provider_c);
  const refused = { status: 401, text: '{"errors":[{"code":32,"message":"Could not authenticate you."}]}' };

  /** Signed by a library that shares no code with the sandbox. */
  function sign(
    issued: Record<string, string>,
    changes: { url?: string; secret?: string; age?: number } = {},
  ) {
    const signer = new OAuth({
      consumer: { key: settings().consumer_key, secret: changes.secret ?? settings().consumer_secret },
      signature_method: 'HMAC-SHA1',
      hash_function: (base, key) => createHmac('sha1', key).update(base).digest('base64'),
    });
    signer.getTimeStamp = () => Math.floor(Date.now() / 1000) - (changes.age ?? 0);
    const token = { key: issued.access_token ?? '', secret: issued.access_secret ?? '' };
    const request = { method: 'GET', url: changes.url ?? settings().verify_url };
    return signer.toHeader(signer.authorize(request, token)).Authorization;
  }

  async function verify(authorization: string, url = settings().verify_url) {
    const response = await fetch(url, { headers: { authorization } });
    return { status: response.status, text: await response.text() };
  }

  test('tells whose token a signed request carries, with an id beyond what a double holds', async () => {
    const subject = 'chloë 日本';
    const issued = await credentials('provider_c', subject);
    const url = `${settings().verify_url}?include_entities=false&q=a%20b%2B!'()*`;
    const { status, text } = await verify(sign(issued, { url }), url);
    expect(status).toBe(200);
    const id = (createHash('sha256').update(subject).digest().readBigUInt64BE() >> 1n).toString();
    expect(Number.isSafeInteger(Number(id))).toBe(false);
    expect(text).toBe(`{"id":${id},"id_str":"${id}","screen_name":"${subject}"}`);
  });

  test('refuses a nonce the second time', async () => {
    const header = sign(await credentials('provider_c', 'chloe'));
    expect((await verify(header)).status).toBe(200);
    expect(await verify(header)).toEqual(refused);
  });

  test('refuses a bad signature, another query, or a time beyond 300 s', async () => {
    const issued = await credentials('provider_c', 'chloe');
    const foreign = { ...issued, access_secret: 'x' };
    expect(await verify(sign(issued, { secret: 'x' }))).toEqual(refused);
    expect(await verify(sign(foreign))).toEqual(refused);
    expect(await verify(sign(issued), `${settings().verify_url}?a=1`)).toEqual(refused);
    expect(await verify(sign(issued, { age: 310 }))).toEqual(refused);
    expect(await verify(sign(issued, { age: -310 }))).toEqual(refused);
    expect((await verify(sign(issued, { age: 290 }))).status).toBe(200);
  });

  test.each([{ expired: 'true' }, { audience: 'another-app' }])('refuses a token with %j', async (more) => {
    expect(await verify(sign(await credentials('provider_c', 'chloe', more)))).toEqual(refused);
  });

  test('refuses no header, a malformed one, and a parameter that stands twice', async () => {
    const header = sign(await credentials('provider_c', 'chloe'));
    for (const bad of ['', 'Bearer x', 'OAuth', 'OAuth x', 'OAuth a="%"', `${header}, oauth_nonce="x"`]) {
      expect(await verify(bad)).toEqual(refused);
    }
  });
});

describe('provider_d', () => {
  const settings = () => v.parse(tokenInfoSettings, sandbox.settings.provider_d);
  const tokenInfo = (token: string) => getJson(`${settings().app_check.url}?access_token=${token}`);

  test('tells the same user id in user info and token info', async () => {
    const { access_token: token = '' } = await credentials('provider_d', 'dörte');
    const { status, body } = await getJson(settings().user_info.url, token);
    expect([status, body]).toEqual([200, { id: expect.stringMatching(/^U[0-9a-f]{32}$/), name: 'dörte' }]);
    const info = await tokenInfo(token);
    expect(info.status).toBe(200);
    expect(info.body).toEqual({
      aud: settings().app_check.audiences[0],
      expires_in: expect.any(Number),
      user_id: body.id,
    });

    const { access_token: stranger = '' } = await credentials('provider_d', 'dorte');
    expect((await getJson(settings().user_info.url, stranger)).body.id).not.toBe(body.id);
  });

  test('does not know an expired or made-up token', async () => {
    const { access_token: expired = '' } = await credentials('provider_d', 'dorte', { expired: 'true' });
    for (const token of [expired, 'made-up', '']) {
      expect((await getJson(settings().user_info.url, token)).status).toBe(401);
      expect(await tokenInfo(token)).toEqual({ status: 400, body: { error: 'invalid_token' } });
    }
  });

  test("names another app as the audience of that app's token", async () => {
    const { access_token: token = '' } = await credentials('provider_d', 'dorte', {
      audience: 'another-app',
    });
    const { status, body } = await tokenInfo(token);
    expect(status).toBe(200);
    expect(settings().app_check.audiences).not.toContain(body.aud);
  });
});

describe('provider_e', () => {
  const settings = () => v.parse(debugTokenSettings, sandbox.settings.provider_e);
  const debugToken = (token: string, appToken = settings().app_check.app_token_secret) =>
    getJson(
      `${settings().app_check.url}?${new URLSearchParams({ input_token: token, access_token: appToken })}`,
    );

  test('tells the same user id in user info and token info', async () => {
    const { access_token: token = '' } = await credentials('provider_e', 'emil');
    const { status, body } = await getJson(settings().user_info.url, token);
    expect([status, body]).toEqual([200, { id: expect.stringMatching(/^\d+$/) }]);
    const [audience] = settings().app_check.audiences;
    const data = { app_id: audience, is_valid: true, user_id: body.id, expires_at: expect.any(Number) };
    expect(await debugToken(token)).toEqual({ status: 200, body: { data } });
  });

  test('says that an expired or made-up token is not valid', async () => {
    const { access_token: expired = '' } = await credentials('provider_e', 'emil', { expired: 'true' });
    for (const token of [expired, 'made-up']) {
      expect((await getJson(settings().user_info.url, token)).status).toBe(401);
      const data = { is_valid: false, error: { code: 190 } };
      expect(await debugToken(token)).toMatchObject({ status: 200, body: { data } });
    }
  });

  test("names another app for that app's token", async () => {
    const { access_token: token = '' } = await credentials('provider_e', 'emil', { audience: 'another-app' });
    const data = { is_valid: true, app_id: 'provider_e-another-app' };
    expect((await debugToken(token)).body).toMatchObject({ data });
    expect(settings().app_check.audiences).not.toContain(data.app_id);
  });

  test('refuses to ask with a wrong app token', async () => {
    const { access_token: token = '' } = await credentials('provider_e', 'emil');
    expect((await debugToken(token, 'provider_e-our-app|wrong')).status).toBe(400);
  });
});

describe('provider_f', () => {
  const settings = () => v.parse(openIdSettings, sandbox.settings.provider_f);

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
    expect((await fetch(`${sandbox.url}/provider_d/keys/rotate`, { method: 'POST' })).status).toBe(404);
  });
});

describe('faults and calls', () => {
  const url = () => v.parse(tokenInfoSettings, sandbox.settings.provider_d).user_info.url;

  test('a fault takes the place of the real answer until it is set to null', async () => {
    const fault = { status: 302, headers: { location: '/elsewhere' }, body: 'moved' };
    expect(await setFault('provider_d', 'user_info', fault)).toBe(204);
    const response = await fetch(url(), { redirect: 'manual' });
    expect([response.status, response.headers.get('location'), await response.text()]).toEqual([
      302,
      '/elsewhere',
      'moved',
    ]);
    await setFault('provider_d', 'user_info', null);
    expect((await fetch(url())).status).toBe(401);
  });

  test('a delay alone lets the real answer come late', async () => {
    await setFault('provider_d', 'user_info', { delay_ms: 60 });
    const asked = performance.now();
    expect((await fetch(url())).status).toBe(401);
    expect(performance.now() - asked).toBeGreaterThan(55);
    await setFault('provider_d', 'user_info', null);
  });

  test('a body can be as large as asked for', async () => {
    await setFault('provider_d', 'user_info', { repeat_body_bytes: 100_001 });
    expect(await (await fetch(url())).text()).toHaveLength(100_001);
    await setFault('provider_d', 'user_info', null);
  });

  test('a body can come byte by byte, until the sandbox is closed', async () => {
    const own = await startSandbox();
    const fault = JSON.stringify({ endpoint: 'jwks', fault: { drip: true } });
    await fetch(`${own.url}/provider_f/fault`, { method: 'PUT', body: fault });
    const reader = (await fetch(`${own.url}/provider_f/jwks`)).body?.getReader();
    expect((await reader?.read())?.value).toHaveLength(1);
    const [rest] = await Promise.allSettled([reader?.closed, own.close()]);
    expect(rest.status).toBe('rejected');
  });

  test('a fault that no endpoint of the provider could have is a 400', async () => {
    expect(await setFault('provider_d', 'jwks', { status: 500 })).toBe(400);
    expect(await setFault('provider_d', 'user_info', { colour: 'red' })).toBe(400);
    expect(await setFault('provider_d', 'user_info', { status: 99 })).toBe(400);
  });

  test('calls counts what each endpoint received, faults included', async () => {
    const own = await startSandbox();
    const none = { user_info: 0, app_check: 0, token: 0, verify: 0, discovery: 0, jwks: 0 };
    const calls = `${own.url}/provider_e/calls`;
    expect((await getJson(calls)).body).toEqual(none);
    await fetch(`${own.url}/provider_e/me`);
    await fetch(`${own.url}/provider_e/me`);
    await fetch(`${own.url}/provider_e/debug_token?input_token=x`);
    await fetch(`${own.url}/provider_e/credentials?subject=x`);
    expect((await getJson(calls)).body).toEqual({ ...none, user_info: 2, app_check: 1 });
    await own.close();
  });
});
