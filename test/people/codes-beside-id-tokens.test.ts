import { describe, expect, test } from '@jest/globals';
import { expectError } from '../support/expectations.ts';
import { itemsAbout } from '../support/items-about.ts';
import { logLines } from '../support/log-lines.ts';
import { createLoginApp } from '../support/login-app.ts';
import { accountOf, identityIdsOf } from '../support/people.ts';
import {
  client_secret_jwt,
  ourApp,
  startProviderStandIn,
  type WrongAnswer,
} from '../support/provider-stand-in.ts';
import { type Answer, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';

const own = await sharedServiceWithStore();
const { service, running } = own;
const standIn = await startProviderStandIn();

/**
 * A Login App whose provider_f exchanges codes as Apple does, each once, with the logins of a
 * person there.
 */
async function newScene(more: object = {}) {
  const scene = standIn.openScene();
  const app = await createLoginApp(service, unique('app'));
  // A code reads `subject.number`.
  scene.answer('token', async ({ code = '' }) => {
    const times = scene.forms('token').filter((form) => form.code === code).length;
    if (times > 1 || code.endsWith('.wrong'))
      return { status: 400, body: { error: 'invalid_grant' } };
    const tokens = { access_token: 'an-access-token', refresh_token: `token-for-${code}` };
    return { body: { ...tokens, id_token: await scene.idToken({ sub: code.split('.')[0] }) } };
  });
  const code_exchange = {
    token_url: `${scene.url}/token`,
    revocation_url: `${scene.url}/revoke`,
    client_id: ourApp,
    client_secret_jwt,
    client_authentication: 'form',
    redirect_uris: ['https://app.example/callback'],
  };
  const issuer = { issuer: scene.url, audiences: [ourApp], code_exchange, ...more };
  const set = (issuers: object[]) => service.setProvider(app, 'provider_f', { issuers });
  await set([issuer]);
  const subject = unique('alice');
  const credential = async (form: Record<string, string> = {}, claims: object = {}) => ({
    provider: 'provider_f',
    id_token: await scene.idToken({ sub: subject, ...claims }),
    ...form,
  });
  const send = async (form?: Record<string, string>, claims?: object): Promise<Answer> =>
    service.token({ grant_type: 'provider_credentials', ...(await credential(form, claims)) }, app);
  const logIn = async (form?: Record<string, string>, claims?: object) => {
    const answer = await send(form, claims);
    expect(answer.status).toBe(200);
    return accountOf(service, answer.body.access_token);
  };
  const newCode = () => `${subject}.${unique('code')}`;
  /** The tokens that were revoked. */
  const revoked = () => scene.forms('revoke').map(({ token }) => token);
  return { scene, app, issuer, set, subject, credential, send, logIn, newCode, revoked };
}
type Made = Awaited<ReturnType<typeof newScene>>;
/** Where the JSON that Apple gives to an app has what a profile shows. */
const user_profile = { email: 'email', given_name: 'name.firstName', family_name: 'name.lastName' };

const firstOf = async (account: ReturnType<typeof accountOf>) =>
  (await account.show()).body.identities[0];

describe('an authorization code beside an id token, where the settings of its issuer have code_exchange', () => {
  test('is exchanged with the secret that the key signs, and its token is revoked when the person is deleted', async () => {
    const { logIn, newCode, scene } = await newScene();
    const code = newCode();
    const code_verifier = 'v'.repeat(43);
    const account = await logIn({ authorization_code: code, code_verifier });
    const client = {
      client_id: ourApp,
      client_secret: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    };
    const redirect_uri = 'https://app.example/callback';
    expect(scene.forms('token')).toEqual([
      { grant_type: 'authorization_code', code, code_verifier, redirect_uri, ...client },
    ]);
    expect(await firstOf(account)).not.toHaveProperty('provider_revocation');
    expect(scene.forms('revoke')).toEqual([]);
    expect((await account.remove()).status).toBe(204);
    const revocation = { token: `token-for-${code}`, token_type_hint: 'refresh_token', ...client };
    expect(scene.forms('revoke')).toEqual([revocation]);
  });

  test.each<[string, (made: Made) => string, string]>([
    ['that the provider rejects', ({ subject }) => `${subject}.wrong`, 'code_refused'],
    ['of another person', () => `${unique('mallory')}.1`, 'subject_mismatch'],
    ['that is malformed', () => 'a b', 'credential_malformed'],
    ['of 20 kB', () => 'x'.repeat(20_000), 'credential_too_long'],
  ])('%s fails no login; a link with a good one mends it', async (_, badCode, reason) => {
    const made = await newScene();
    const { logIn, credential, newCode, revoked, scene } = made;
    const bad = { authorization_code: badCode(made) };
    const account = await logIn(bad);
    expect(await firstOf(account)).toMatchObject({ provider_revocation: false });
    expect(logLines(running)).toContainEqual(
      expect.objectContaining({ event: 'code_not_exchanged', issuer: scene.url, reason }),
    );
    const again = await account.link(await credential(bad));
    expect([again.status, again.body.provider_revocation]).toEqual([200, false]);
    const good = newCode();
    const linked = await account.link(await credential({ authorization_code: good }));
    expect([linked.status, linked.body.provider_revocation]).toEqual([200, undefined]);
    await account.remove();
    expect(revoked()).toEqual([`token-for-${good}`]);
  });

  test.each<[string, WrongAnswer | undefined]>([
    ['never answers', undefined],
    ['answers 503', { status: 503 }],
    ['rejects our credentials', { status: 401, body: { error: 'invalid_client' } }],
    ['gives no refresh token', { body: { id_token: 'x', access_token: 'y' } }],
    ['redirects', { status: 302, headers: { location: 'http://127.0.0.1:1' } }],
  ])('a token endpoint that %s fails no login, and no link', async (_, answer) => {
    const { logIn, credential, newCode, scene } = await newScene();
    if (answer) scene.answer('token', answer);
    else scene.misbehave('token', () => undefined);
    const started = performance.now();
    const account = await logIn({ authorization_code: newCode() });
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(await firstOf(account)).toMatchObject({ provider_revocation: false });
    const other = unique('other');
    const form = await credential({ authorization_code: `${other}.1` }, { sub: other });
    const linked = await account.link(form);
    expect([linked.status, linked.body.provider_revocation]).toEqual([201, false]);
  });

  test("an exchange's id token of another app or issuer counts for nothing, and its refresh token is revoked", async () => {
    const { logIn, newCode, scene, subject, revoked } = await newScene();
    for (const claims of [
      { aud: 'another-app' },
      { iss: 'https://other.example' },
      { exp: 1, iat: 1 },
    ]) {
      const id_token = await scene.idToken({ sub: subject, ...claims });
      scene.answer('token', { body: { id_token, refresh_token: 'stray' } });
      const account = await logIn({ authorization_code: newCode() });
      expect(await firstOf(account)).toMatchObject({ provider_revocation: false });
    }
    expect(revoked()).toEqual(['stray', 'stray', 'stray']);
  });

  test('that is replayed leaves the token that it gave before, and nothing says that there is none', async () => {
    const { logIn, newCode, revoked, scene } = await newScene();
    const code = newCode();
    await logIn({ authorization_code: code });
    const account = await logIn({ authorization_code: code });
    expect(scene.forms('token').map((form) => form.code)).toEqual([code, code]);
    expect(await firstOf(account)).not.toHaveProperty('provider_revocation');
    await account.remove();
    expect(revoked()).toEqual([`token-for-${code}`]);
  });

  test.each<[string, object, object, string]>([
    ['an id token that lets nobody in', {}, { aud: 'another-app' }, 'invalid_grant'],
    ['a foreign redirect_uri', { redirect_uri: 'https://evil.example' }, {}, 'invalid_request'],
  ])('beside %s is not exchanged: 400', async (_, more, claims, error) => {
    const { send, newCode, scene } = await newScene();
    const answer = await send({ authorization_code: newCode(), ...more }, claims);
    expectError(answer, { status: 400, error, naming: /redirect_uri|does not accept/ });
    expect(scene.calls('token')).toBe(0);
  });

  test('works where the issuer requires a nonce, of which the id token for the code may have none', async () => {
    const { logIn, newCode } = await newScene({ nonce: 'required' });
    const account = await logIn({ authorization_code: newCode(), nonce: 'n-1' }, { nonce: 'n-1' });
    expect(await firstOf(account)).not.toHaveProperty('provider_revocation');
  });

  test('at eight logins at once, four of them with bad codes: every token is revoked with the person', async () => {
    const { logIn, newCode, revoked, subject } = await newScene();
    const codes = Array.from({ length: 4 }, newCode);
    const all = [...codes, ...codes.map(() => `${subject}.wrong`)];
    await Promise.all(all.map((code) => logIn({ authorization_code: code })));
    const account = await logIn();
    expect(await firstOf(account)).not.toHaveProperty('provider_revocation');
    await account.remove();
    expect(revoked()).not.toEqual([]);
    expect(codes.map((code) => `token-for-${code}`)).toEqual(expect.arrayContaining(revoked()));
  });

  test('beside the deletion of the person leaves no token that is never revoked', async () => {
    const { logIn, newCode, revoked } = await newScene();
    const code = newCode();
    const account = await logIn();
    await Promise.all([account.remove(), logIn({ authorization_code: code })]);
    const back = await logIn();
    await back.remove();
    expect(revoked()).toEqual([`token-for-${code}`]);
  });

  test('is revoked by the settings of the issuer that gave it, also where provider_b has others', async () => {
    const one = await newScene();
    const two = await newScene();
    await one.set([one.issuer, { ...two.issuer }]);
    const exchange = { token_url: 'https://b.example/token', client_id: 'b', client_secret: 'b' };
    const b = {
      ...exchange,
      revocation_url: 'https://b.example/r',
      id_token: { issuer: one.scene.url },
    };
    await service.setProvider(one.app, 'provider_b', { authorization_code: b });
    const code = two.newCode();
    const id_token = await two.scene.idToken({ sub: two.subject });
    const account = await one.logIn({ id_token, authorization_code: code });
    expect((await account.remove()).status).toBe(204);
    expect([one.revoked(), two.revoked()]).toEqual([[], [`token-for-${code}`]]);
  });

  test('whose token is not revoked keeps it for the operator', async () => {
    const { logIn, newCode, revoked, scene, set, issuer } = await newScene();
    const account = await logIn({ authorization_code: newCode() });
    const { id } = (await account.show()).body;
    scene.answer('revoke', { status: 500 });
    expect((await account.remove()).status).toBe(204);
    const retry = () => service.operate('login-users', 'retry-revocations', { 'login-user': id });
    expect(await retry()).toMatchObject({ revoked: 0, not_revoked: 1 });
    const { code_exchange: _, ...withoutExchange } = issuer;
    await set([withoutExchange]);
    running.advance(31);
    expect(await retry()).toMatchObject({ revoked: 0, not_revoked: 1 });
    expect(revoked()).toHaveLength(2);
    await set([issuer]);
    scene.answer('revoke', { status: 200 });
    running.advance(31);
    expect(await retry()).toMatchObject({ revoked: 1, not_revoked: 0 });
  });
});

describe('without code_exchange', () => {
  const plain = { code_exchange: undefined };

  test('a login ignores the code and what the app tells', async () => {
    const { logIn, newCode, scene } = await newScene(plain);
    const account = await logIn({ authorization_code: newCode(), user: 'no JSON' });
    expect(scene.calls('token')).toBe(0);
    const identity = await firstOf(account);
    expect(Object.keys(identity).sort()).toEqual(['id', 'last_login_at', 'linked_at', 'provider']);
  });

  test.each(['code_verifier', 'redirect_uri'])(
    'a login with %s is a 400, code or not',
    async (name) => {
      const { send, newCode } = await newScene(plain);
      const naming = `The parameter ${name} must not be supplied with provider credentials.`;
      const value = 'x'.repeat(43);
      for (const form of [{ [name]: value }, { [name]: value, authorization_code: newCode() }])
        expectError(await send(form), { status: 400, error: 'invalid_request', naming });
    },
  );

  test('a link with a code is a 400', async () => {
    const { logIn, credential, newCode } = await newScene(plain);
    const answer = await (await logIn()).link(await credential({ authorization_code: newCode() }));
    expectError(answer, {
      status: 400,
      error: 'invalid_request',
      naming: /with an authorization_code/,
    });
  });
});

describe('what the app tells of the person', () => {
  const all = { user_profile, profile: { email: 'email', email_verified: 'email_verified' } };
  const user = (email = 'told@example.com') =>
    JSON.stringify({ name: { firstName: 'Ada', lastName: 'Lovelace' }, email });
  const names = { given_name: 'Ada', family_name: 'Lovelace' };

  test('is shown, marked as unverified, and stays when later logins tell nothing', async () => {
    const { logIn } = await newScene(all);
    const shown = {
      profile: { email: 'told@example.com', ...names },
      unverified: ['email', 'given_name', 'family_name'],
    };
    expect(await firstOf(await logIn({ user: user() }))).toMatchObject(shown);
    expect(await firstOf(await logIn())).toMatchObject(shown);
    expect(await firstOf(await logIn({ user: '{}' }))).toMatchObject(shown);
    const renamed = await firstOf(await logIn({ user: '{"name":{"firstName":"Augusta"}}' }));
    expect(renamed).toMatchObject({
      profile: { given_name: 'Augusta' },
      unverified: ['given_name'],
    });
  });

  test('is never over what the id token says, and never looks verified', async () => {
    const { logIn } = await newScene(all);
    const said = { email: 'real@example.com', email_verified: true };
    const account = await logIn({ user: user() }, said);
    expect(await firstOf(account)).toMatchObject({
      profile: { ...said, ...names },
      unverified: ['given_name', 'family_name'],
    });
    const verifiedAlone = await firstOf(await logIn({ user: user() }, { email_verified: true }));
    expect(verifiedAlone.profile).toEqual({ email_verified: true, ...names });
    const hostile = '{"email_verified":true,"sub":"mallory","__proto__":{"email":"x@example.com"}}';
    const { profile } = await firstOf(
      await logIn({ user: hostile }, { email: 'real@example.com' }),
    );
    expect(profile).toEqual({ email: 'real@example.com', ...names });
  });

  test('of a link is shown with the linked identity, and goes with it', async () => {
    const { logIn, credential } = await newScene(all);
    const account = await logIn();
    const other = await credential({ user: user() }, { sub: unique('other') });
    const linked = await account.link(other);
    expect(linked.body).toMatchObject({
      profile: names,
      unverified: expect.arrayContaining(['email']),
    });
    const email = `${unique('new')}@example.com`;
    const again = await account.link({ ...other, user: JSON.stringify({ email }) });
    expect(again.body).toMatchObject({ profile: { email }, unverified: ['email'] });
    const [, id = ''] = identityIdsOf(await account.show());
    await account.unlink(id);
    expect(await itemsAbout(own, email)).toEqual([]);
  });

  test.each([
    ['2,049 bytes', JSON.stringify({ email: 'x'.repeat(2_037) })],
    ['no JSON', '{"email":'],
    ['a text', '"told@example.com"'],
    ['an object in a text', JSON.stringify('{"email":"told@example.com"}')],
    ['a list', '[{"email":"told@example.com"}]'],
  ])('%s: it is left out, and the log says so', async (_, told) => {
    const { send } = await newScene(all);
    const answer = await send({ user: told });
    expect(answer.status).toBe(200);
    const request_id = answer.headers.get('x-request-id');
    expect(logLines(running)).toContainEqual(
      expect.objectContaining({ event: 'token_issued', request_id, left_out: 'user' }),
    );
  });

  test.each([
    ['null', 'null'],
    ['nothing', ''],
    ['an object without claims', '{}'],
    ['2,048 bytes, too long for an address', JSON.stringify({ email: 'x'.repeat(2_036) })],
    ['claims of another type', '{"name":{"firstName":7,"lastName":["x"]},"email":{}}'],
  ])('%s: nothing of it is kept', async (_, told) => {
    const { logIn } = await newScene(all);
    expect(await firstOf(await logIn({ user: told }))).not.toHaveProperty('profile');
  });

  test('is not told to be verified by settings either', async () => {
    const { set, issuer } = await newScene();
    const wrong = { ...issuer, user_profile: { email_verified: 'email_verified' } };
    await expect(set([wrong])).rejects.toThrow(
      'must only have email, name, given_name, family_name',
    );
  });
});

describe('the key in the settings of an issuer', () => {
  const flagsOf = ({ app }: Made) => ({ 'login-app': app.login_app_id, provider: 'provider_f' });
  const shownOf = async (made: Made) =>
    Object(await service.operate('providers', 'show', flagsOf(made))).providers.provider_f.issuers;

  test('is stored encrypted and shown masked; a preset for another issuer and a removal leave it in use', async () => {
    const made = await newScene();
    const flags = flagsOf(made);
    await service.operate('providers', 'set', { ...flags, preset: 'google', 'app-id': 'g' });
    await service.operate('providers', 'set', { ...flags, preset: 'twitch', 'app-id': 't' });
    await service.operate('providers', 'remove', {
      ...flags,
      issuer: 'https://accounts.google.com',
    });
    expect(await itemsAbout(own, 'PRIVATE KEY')).toEqual([]);
    const [issuer, ...others] = await shownOf(made);
    expect(issuer.code_exchange.client_secret_jwt.private_key_secret).toBe('********');
    expect(others).toMatchObject([{ issuer: 'https://id.twitch.tv/oauth2' }]);
    running.advance(31);
    const account = await made.logIn({ authorization_code: made.newCode() });
    expect(await firstOf(account)).not.toHaveProperty('provider_revocation');
  });

  test('comes with the preset apple, also for an issuer that is there already', async () => {
    const made = await newScene();
    const set = (flags: object) =>
      service.operate('providers', 'set', { ...flagsOf(made), preset: 'apple', ...flags });
    await set({ 'app-id': 'com.example.app' });
    expect((await shownOf(made))[1]).not.toHaveProperty('code_exchange');
    await expect(set({ 'app-id': 'com.example.app', 'team-id': 'T' })).rejects.toThrow(
      '--app-secret-file is needed for the preset apple; --key-id is needed',
    );
    const { team_id, key_id, private_key_secret } = client_secret_jwt;
    const key = { 'team-id': team_id, 'key-id': key_id, 'app-secret': private_key_secret };
    await set({ ...key, 'app-id': 'com.example.app,com.example.web' });
    expect((await shownOf(made))[1]).toMatchObject({
      audiences: ['com.example.app', 'com.example.web'],
      nonce_form: 'sha256',
      code_exchange: {
        token_url: 'https://appleid.apple.com/auth/token',
        revocation_url: 'https://appleid.apple.com/auth/revoke',
        client_id: 'com.example.app',
        client_secret_jwt: { team_id, key_id, private_key_secret: '********' },
      },
      user_profile,
    });
  });
});
