import { createHmac } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectError } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { accountOf, isIn } from '../support/people.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { now, sharedService, unique } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();
const page = 'https://www.example.com/deletion?lang=en';
const secret = 'app-secret';
/** A Login App with Facebook, and a person who has logged in there. */
async function newLogin(notifications: object | null = { data_deletion_url: page }) {
  const scene = standIn.openScene();
  const subject = unique('alice');
  scene.answer('user_info', { body: { id: subject } });
  scene.answer('debug_token', {
    body: { data: { app_id: ourApp, is_valid: true, user_id: subject } },
  });
  const app = await createLoginApp(service, unique('app'));
  await service.setProvider(app, 'provider_a', {
    namespace: scene.url,
    user_info: { url: `${scene.url}/user_info`, subject_field: 'id' },
    audience_validation: {
      method: 'token_info',
      url: `${scene.url}/debug_token`,
      audience_field: 'data.app_id',
      valid_field: 'data.is_valid',
      audiences: [ourApp],
    },
    ...(notifications && { notifications: { app_secret: secret, ...notifications } }),
  });
  const form = {
    grant_type: 'provider_credentials',
    provider: 'provider_a',
    access_token: 'a-token',
  };
  const logIn = async () => {
    const { body } = await service.token(form, app);
    const { sub: loginUserId } = decodeJwt(body.access_token);
    return { loginUserId, account: accountOf(service, body.access_token) };
  };
  const send = (signed_request: string, query = '&event=deauthorize', provider = 'provider_a') => {
    const path = `/v2/marketing/providers/${provider}/notifications?login_app_id=${app.login_app_id}`;
    return service.form(`${path}${query}`, { signed_request });
  };
  const signed = (claims: object = {}, key = secret) => {
    const payload = { algorithm: 'HMAC-SHA256', issued_at: now(), user_id: subject, ...claims };
    return signedBy(key, Buffer.from(JSON.stringify(payload)).toString('base64url'));
  };
  return { logIn, send, signed };
}

/** A payload of somebody whose id has a letter in Latin-1. */
const inLatin1 = Buffer.from(
  JSON.stringify({ algorithm: 'HMAC-SHA256', issued_at: now(), user_id: 'm\xfcller' }),
  'latin1',
).toString('base64url');

const signedBy = (key: string, encoded: string): string =>
  `${createHmac('sha256', key).update(encoded).digest('base64url')}.${encoded}`;

const deletion = '&event=data_deletion';
/** Somebody of whom no request that is refused must change anything. */
const bystander = await newLogin();
const phone = await bystander.logIn();

describe('signed requests', () => {
  test.each([
    [{}, false, true],
    [{ on_unlinked: 'nothing' }, true, true],
    [{ on_unlinked: 'delete' }, false, false],
  ])('deauthorize with %j', async (settings, staysIn, isSame) => {
    const { logIn, send, signed } = await newLogin(settings);
    const phone = await logIn();
    const { status, body } = await send(signed());
    expect([status, body, await isIn(phone)]).toEqual([200, {}, staysIn]);
    expect((await logIn()).loginUserId === phone.loginUserId).toBe(isSame);
  });

  test('a signature may have its padding', async () => {
    const { send, signed } = await newLogin();
    expect((await send(signed().replace('.', '=.'))).status).toBe(200);
  });

  test('data_deletion: the person is deleted; a repeated request, and one for nobody, get a code too', async () => {
    const { logIn, send, signed } = await newLogin();
    const phone = await logIn();
    const request = signed();
    const { status, body } = await send(request, deletion);
    expect(status).toBe(200);
    expect(body.confirmation_code).toMatch(/^[0-9a-f]{24}$/);
    expect(body.url).toBe(`${page}&confirmation_code=${body.confirmation_code}`);
    expect((await send(request, deletion)).body).toEqual(body);
    const nobody = (await send(signed({ user_id: 'nobody' }), deletion)).body;
    expect(nobody.confirmation_code).not.toBe(body.confirmation_code);
    expect((await logIn()).loginUserId).not.toBe(phone.loginUserId);
  });

  test('a repeated one, and one from before the latest login, change nothing', async () => {
    const { logIn, send, signed } = await newLogin();
    await logIn();
    const request = signed({ issued_at: now() + 40 });
    await send(request, deletion);
    const again = await logIn();
    expect((await send(request, deletion)).status).toBe(200);
    expect((await send(signed({ issued_at: now() - 60 }), deletion)).status).toBe(200);
    expect(await isIn(again)).toBe(true);
  });

  test.each([
    ['deauthorize', 'data_deletion'],
    ['data_deletion', 'deauthorize'],
  ])('400 for one that came as %s, as %s: it counts for one event', async (first, second) => {
    const { logIn, send, signed } = await newLogin();
    const request = signed();
    expect((await send(request, `&event=${first}`)).status).toBe(200);
    const phone = await logIn();
    const again = await send(request, `&event=${second}`);
    const naming = `The signed_request came as ${first} before.`;
    expectError(again, { status: 400, error: 'invalid_request', naming });
    expect(await isIn(phone)).toBe(true);
    expect((await send(request, `&event=${first}`)).status).toBe(200);
  });

  const { signed } = bystander;
  const notOurs = /^The signed_request is not one of this provider/;
  const otherPayload = signed({ user_id: 'bob' }).split('.')[1];
  test.each<[string, () => string, RegExp]>([
    ['of another secret', () => signed({}, 'another'), notOurs],
    ['that was changed', () => `${signed().split('.')[0]}.${otherPayload}`, notOurs],
    ['whose signature has more padding', () => signed().replace('.', '==.'), notOurs],
    ['without a signature', () => `.${signed().split('.')[1]}`, notOurs],
    ['with a third part', () => `${signed()}.x`, notOurs],
    ['of another algorithm', () => signed({ algorithm: 'none' }), /malformed/],
    ['that is not UTF-8', () => signedBy(secret, inLatin1), /malformed/],
    ['that is no JSON', () => signedBy(secret, 'e30x'), /malformed/],
    ['of a login', () => signed({ code: 'x' }), /that of a login/],
    ['of a page', () => signed({ oauth_token: 'x' }), /that of a login/],
    ['of nobody', () => signed({ user_id: undefined }), /no usable user_id/],
    ['older than seven days', () => signed({ issued_at: now() - 7 * 86_400 - 120 }), notOurs],
    ['from the future', () => signed({ issued_at: now() + 120 }), notOurs],
  ])('400 for one %s: nothing changes', async (_, newRequest, naming) => {
    const answer = await bystander.send(newRequest(), deletion);
    expectError(answer, { status: 400, error: 'invalid_request', naming });
    expect(await isIn(phone)).toBe(true);
  });

  test.each<[string, object | null, string, string, RegExp]>([
    ['no event', {}, '', 'provider_a', /query parameter event/],
    ['another event', {}, '&event=x', 'provider_a', /event must be deauthorize or data_deletion/],
    ['no data_deletion_url', {}, deletion, 'provider_a', /no data_deletion_url/],
    ['no notifications in the settings', null, deletion, 'provider_a', /no notifications/],
    ['a provider that is not set up', {}, deletion, 'provider_f', /not set up/],
  ])('400 for %s', async (_, settings, query, provider, naming) => {
    const { send, signed } = await newLogin(settings);
    expectError(await send(signed(), query, provider), {
      status: 400,
      error: 'invalid_request',
      naming,
    });
  });
});
