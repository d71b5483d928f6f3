import { describe, expect, test } from '@jest/globals';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { expectError } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { now, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();

const personal = '9188040d-6c67-4c5b-b112-36a304b66dad';
const contoso = '00000000-0000-4000-8000-00000000c0de';
const fabrikam = '00000000-0000-4000-8000-0000000fab00';

const { publicKey, privateKey } = await generateKeyPair('RS256');
const jwk = await exportJWK(publicKey);

/** A Login App that trusts every tenant of an authority, unless the settings say otherwise. */
async function newAuthority(settings: object = {}, issuerOfKey?: string) {
  const scene = standIn.openScene();
  const template = `${scene.url}/{tenantid}/v2.0`;
  const issuer = issuerOfKey?.replace('AUTHORITY', scene.url);
  scene.answer('jwks', { body: { keys: [{ ...jwk, kid: 'k', issuer }] } });
  const app = await createLoginApp(service, unique('app'));
  const set = (more: object) =>
    service.setProvider(app, 'provider_f', {
      issuers: [{ issuer: template, jwks_uri: `${scene.url}/jwks`, audiences: [ourApp], ...more }],
    });
  await set(settings);
  const logIn = async (tid: unknown, claims: object = {}) => {
    const iat = now();
    const iss = `${scene.url}/${tid}/v2.0`;
    const all = { iss, tid, sub: 'alice', aud: ourApp, iat, exp: iat + 600, ...claims };
    const id_token = await new SignJWT(JSON.parse(JSON.stringify(all)))
      .setProtectedHeader({ alg: 'RS256', kid: 'k', typ: 'JWT' })
      .sign(privateKey);
    return service.byIdToken(id_token, app);
  };
  return { scene, template, app, set, logIn };
}

const refused = { status: 400, error: 'invalid_grant' };

test('people of any tenant log in, as one Login User by issuer and sub', async () => {
  const { logIn, scene } = await newAuthority();
  const userOf = async (tid: string) => {
    const { status, body } = await logIn(tid);
    expect(status).toBe(200);
    return decodeJwt(body.access_token).sub;
  };
  const users = [await userOf(contoso), await userOf(fabrikam), await userOf(personal)];
  expect(new Set(users).size).toBe(3);
  expect(await userOf(contoso)).toBe(users[0]);
  expect(scene.calls('jwks')).toBe(1);
});

test('with a list of tenants, only theirs', async () => {
  const { logIn } = await newAuthority({ tenants: [contoso.toUpperCase(), personal] });
  expect((await logIn(contoso)).status).toBe(200);
  expect((await logIn(personal)).status).toBe(200);
  expectError(await logIn(fabrikam), refused);
});

test.each<[string, unknown, object?]>([
  ['the tid of another tenant', contoso, { tid: fabrikam }],
  ['no tid', contoso, { tid: undefined }],
  ['a tid in capitals', contoso.toUpperCase()],
  ['a tid that is a path', '..%2F..'],
  ['a tid that leads elsewhere', `${contoso}/../${fabrikam}`],
  ['the template as its issuer', '{tenantid}'],
  ['a tid that is a list', contoso, { tid: [contoso] }],
  ['common as its tenant', 'common'],
])('[RFC 8725 3.8] a token with %s: 400', async (_, tid, claims = {}) => {
  const { logIn } = await newAuthority();
  expectError(await logIn(tid, claims), refused);
});

test.each([
  ['the template', 'AUTHORITY/{tenantid}/v2.0', 200],
  ['the tenant', `AUTHORITY/${contoso}/v2.0`, 200],
  ['another tenant', `AUTHORITY/${personal}/v2.0`, 400],
])('a key whose issuer is %s', async (_, issuer, status) => {
  const { logIn } = await newAuthority({}, issuer);
  expect((await logIn(contoso)).status).toBe(status);
});

test.each<[string, object, RegExp]>([
  ['no jwks_uri', { jwks_uri: undefined }, /needs jwks_uri/],
  ['a namespace for all', { namespace: 'microsoft' }, /can have no namespace/],
  ['a tenant that is no GUID', { tenants: ['contoso.onmicrosoft.com'] }, /a GUID/],
  ['no tenant', { tenants: [] }, /at least one tenant/],
  [
    'tenants without a template',
    { issuer: 'https://a.example', tenants: [contoso] },
    /tenants only/,
  ],
  ['the tenant in its host', { issuer: 'https://{tenantid}.example/' }, /braces|https/],
  ['the tenant as its host', { issuer: 'https://{tenantid}/v2.0' }, /braces/],
  ['other braces', { issuer: 'https://a.example/{tenant}/v2.0' }, /braces/],
  ['two tenants', { issuer: 'https://a.example/{tenantid}/{tenantid}/v2.0' }, /braces/],
])('settings with %s are refused', async (_, settings, naming) => {
  const { set } = await newAuthority();
  await expect(set(settings)).rejects.toThrow(naming);
});

describe('an operator names the issuer of a tenant', () => {
  const provider = 'provider_f';

  /** A person of a tenant, and commands about the Login App and its tenants. */
  async function newPersonOfTenant(settings: object = {}) {
    const { app, scene, template, logIn } = await newAuthority(settings);
    const login = await logIn(contoso);
    const login_user_id = String(decodeJwt(login.body.access_token).sub);
    const issuerOf = (tid: string) => `${scene.url}/${tid}/v2.0`;
    const ofApp = { 'login-app': app.login_app_id, provider };
    const find = (subject: string, issuer?: string) =>
      service.operate('login-users', 'find', { ...ofApp, subject, issuer });
    const add = (subject: string, issuer: string) =>
      service.operate('identities', 'add', {
        'login-user': login_user_id,
        provider,
        subject,
        issuer,
      });
    return { app, template, logIn, login_user_id, issuerOf, find, add };
  }

  test('to find a person, whom the template does not lead to', async () => {
    const { find, issuerOf, template, login_user_id } = await newPersonOfTenant();
    expect(await find('alice', issuerOf(contoso))).toMatchObject({ login_user_id });
    await expect(find('alice')).rejects.toThrow(
      `Each tenant has an issuer of its own, ${template}: name it with --issuer.`,
    );
  });

  test('to link an identity, which then logs in', async () => {
    const { add, issuerOf, logIn, template, login_user_id } = await newPersonOfTenant();
    expect(await add('bob', issuerOf(fabrikam))).toMatchObject({ added: true });
    const { body } = await logIn(fabrikam, { sub: 'bob' });
    expect(decodeJwt(body.access_token).sub).toBe(login_user_id);
    await expect(add('carol', template)).rejects.toThrow(`Choose one of these`);
  });

  test('but only one whose people can log in', async () => {
    const { add, issuerOf, template } = await newPersonOfTenant({ tenants: [contoso] });
    await expect(add('bob', issuerOf(fabrikam))).rejects.toThrow(
      `Choose one of these with --issuer: ${template}.`,
    );
  });

  test('to import people: the dry run knows it', async () => {
    const { app, issuerOf, template } = await newPersonOfTenant();
    const people = [issuerOf(contoso), issuerOf(personal), template].map((issuer, at) => {
      const person = { provider, issuer, subject: unique('subject'), external_id: unique('ext') };
      return { line: at + 1, text: JSON.stringify(person), repetition: 0 };
    });
    const flags = { 'login-app': app.login_app_id, people, 'dry-run': true };
    expect(await service.operate('login-users', 'import', flags)).toMatchObject({
      issuers: [{ known: true }, { known: true }, { issuer: template, known: false }],
    });
  });
});
