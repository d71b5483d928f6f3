import { createHmac } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import OAuth from 'oauth-1.0a';
import * as v from 'valibot';
import { startSandbox } from '../../infra/local/sandbox/sandbox.ts';
import { parametersOf } from '../../lib/providers/parameters.ts';
import { type ProviderId, providerIds } from '../../lib/providers/provider-ids.ts';

const sandbox = await startSandbox();
afterAll(() => sandbox.close());

async function credentials(provider: string, query: Record<string, string>) {
  const response = await fetch(`${sandbox.url}/${provider}/credentials?${new URLSearchParams(query)}`);
  return { status: response.status, body: v.parse(v.record(v.string(), v.string()), await response.json()) };
}

describe('the credentials of the sandbox', () => {
  const alsoIssued: Partial<Record<ProviderId, string[]>> = { provider_b: ['authorization_code'] };

  test.each(providerIds)('%s: are the required parameters of a token request', async (provider) => {
    const names = [...parametersOf(provider).required, ...(alsoIssued[provider] ?? [])].sort();
    const issued = await Promise.all([
      credentials(provider, { subject: 'alice' }),
      credentials(provider, { subject: 'alice', expired: 'true', audience: 'another-app' }),
    ]);
    for (const { status, body } of issued) {
      expect({ status, names: Object.keys(body).sort() }).toEqual({ status: 200, names });
    }
    for (const name of names) expect(issued[0].body[name]).not.toBe(issued[1].body[name]);
  });

  test.each<[string, Record<string, string>]>([
    ['subject', {}],
    ['subject', { subject: '' }],
    ['audience', { subject: 'alice', audience: 'x' }],
    ['expired', { subject: 'alice', expired: '1' }],
    ['issuer', { subject: 'alice', issuer: 'third' }],
    ['code_challenge', { subject: 'alice', code_challenge: 'x' }],
    ['claims', { subject: 'alice', claims: '{' }],
    ['claims', { subject: 'alice', claims: '3' }],
    ['expried', { subject: 'alice', expried: 'true' }],
  ])('a wrong %s is a 400 that names it: %j', async (name, query) => {
    const { status, body } = await credentials('provider_f', query);
    expect(status).toBe(400);
    expect(body.error_description).toContain(name);
  });

  test.each(['provider_z', '__proto__', 'constructor'])('%s is a 404', async (provider) => {
    expect((await credentials(provider, { subject: 'alice' })).status).toBe(404);
  });
});

describe('provider_f of the sandbox', () => {
  const claimsOf = async (query: Record<string, string>) =>
    decodeJwt((await credentials('provider_f', { subject: 'alice', ...query })).body.id_token ?? '');

  test('has two issuers, which publish where their keys are', async () => {
    const issuers = [(await claimsOf({})).iss, (await claimsOf({ issuer: 'second' })).iss];
    expect(issuers).toEqual([`${sandbox.url}/provider_f`, `${sandbox.url}/provider_f/second`]);
    for (const issuer of issuers) {
      const discovery = await fetch(`${issuer}/.well-known/openid-configuration`);
      expect(await discovery.json()).toMatchObject({ issuer, jwks_uri: `${issuer}/jwks` });
    }
  });

  test('puts a nonce into the id token', async () => {
    expect(await claimsOf({ nonce: 'n' })).toMatchObject({ nonce: 'n' });
    expect(await claimsOf({})).not.toHaveProperty('nonce');
  });
});

describe('provider_c of the sandbox', () => {
  const settings = v.parse(
    v.object({ verify_url: v.string(), consumer_key: v.string(), consumer_secret: v.string() }),
    sandbox.settings.provider_c,
  );
  const issue = async (query = {}) => (await credentials('provider_c', { subject: 'chloe', ...query })).body;

  /** Signed by a library that shares no code with the sandbox. */
  function sign(
    issued: Record<string, string>,
    { url = settings.verify_url, secret = settings.consumer_secret, age = 0 } = {},
  ): string {
    const signer = new OAuth({
      consumer: { key: settings.consumer_key, secret },
      signature_method: 'HMAC-SHA1',
      hash_function: (base, key) => createHmac('sha1', key).update(base).digest('base64'),
    });
    signer.getTimeStamp = () => Math.floor(Date.now() / 1000) - age;
    const token = { key: issued.access_token ?? '', secret: issued.access_secret ?? '' };
    return signer.toHeader(signer.authorize({ method: 'GET', url }, token)).Authorization;
  }

  const verify = async (authorization: string, url = settings.verify_url) =>
    (await fetch(url, { headers: { authorization } })).status;

  test('accepts a signed request, with a query too', async () => {
    expect(await verify(sign(await issue()))).toBe(200);
    const url = `${settings.verify_url}?include_entities=false&q=a%20b%2B!'()*`;
    expect(await verify(sign(await issue(), { url }), url)).toBe(200);
  });

  test('rejects a nonce the second time', async () => {
    const header = sign(await issue());
    expect([await verify(header), await verify(header)]).toEqual([200, 401]);
  });

  test('rejects a wrong signature, another query, and a time more than 300 s away', async () => {
    const issued = await issue();
    expect(await verify(sign(issued, { secret: 'x' }))).toBe(401);
    expect(await verify(sign({ ...issued, access_secret: 'x' }))).toBe(401);
    expect(await verify(sign(issued), `${settings.verify_url}?a=1`)).toBe(401);
    expect(await verify(sign(issued, { age: 310 }))).toBe(401);
    expect(await verify(sign(issued, { age: -310 }))).toBe(401);
    expect(await verify(sign(issued, { age: 290 }))).toBe(200);
  });

  test('rejects no header, a malformed one, and a parameter that stands twice', async () => {
    const header = sign(await issue());
    for (const bad of ['', 'Bearer x', 'OAuth', 'OAuth x', 'OAuth a="%"', `${header}, oauth_nonce="x"`]) {
      expect(await verify(bad)).toBe(401);
    }
  });
});
