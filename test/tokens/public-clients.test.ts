import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError, tokenResponse } from '../support/expectations.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { createClient, createLoginApp } from '../support/login-app.ts';
import { accountOf, subOf } from '../support/people.ts';
import { newPhone, newPublicClient } from '../support/phone.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { asClient, now, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import type { StoreHook } from '../support/store-proxy.ts';

const { proxy, running, service } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();
const { demo, operate } = service;
const invalidGrant = { status: 400, error: 'invalid_grant' };
const invalidRequest = { status: 400, error: 'invalid_request' };
const invalidClient = { status: 401, error: 'invalid_client' };
const unauthorizedClient = { status: 400, error: 'unauthorized_client' };
const client = await newPublicClient(service);
const phone = await newPhone(service, client);

const session = async (of = phone): Promise<string> => (await of.logIn()).body.refresh_token;

describe('a phone', () => {
  test('logs a person in, refreshes, relates its device and logs out, with no secret', async () => {
    const login = await phone.logIn();
    expectAnswer(login, 200, tokenResponse);
    const next = await phone.refresh(login.body.refresh_token);
    expectAnswer(next, 200, tokenResponse);
    const device = { platform: 'ios', token: 'ab'.repeat(32) };
    const { id } = (await service.register(device, await service.loginAppToken())).body;
    expect((await service.relate(id, next.body.access_token)).status).toBe(200);
    expectAnswer(await phone.send('revoke', { token: next.body.refresh_token }), 200, {});
    expectError(await phone.refresh(next.body.refresh_token), invalidGrant);
  });

  test('gets the same successor after a lost answer, and is noticed when an old token comes back', async () => {
    const first = await session();
    const second = (await phone.refresh(first)).body.refresh_token;
    expect((await phone.refresh(first)).body.refresh_token).toBe(second);
    await phone.refresh(second);
    expectError(await phone.refresh(first), invalidGrant);
    expectError(await phone.refresh(second), invalidGrant);
  });
});

/** Whether a write notes that something was used. */
const isNote = (body: object): boolean => JSON.stringify(body).includes('USED_ONCE');

describe('the nonce of a login', () => {
  const used = { ...invalidGrant, naming: 'The nonce is not valid, or has been used.' };
  const thief = () => newPhone(service, client);

  test.each<[string, (nonce: string) => Promise<string>]>([
    ['plain', async (nonce) => nonce],
    ['as its SHA-256', async (nonce) => createHash('sha256').update(nonce).digest('hex')],
  ])('%s: counts for one login of one phone', async (_, inToken) => {
    const nonce = await phone.nonce();
    const subject = unique('person');
    const form = {
      ...(await service.loginForm('provider_f', { subject, nonce: await inToken(nonce) })),
      nonce,
    };
    expect((await phone.send('token', form)).status).toBe(200);
    expectError(await (await thief()).send('token', form), used);
    const other = {
      ...(await service.loginForm('provider_f', { nonce: await inToken(nonce) })),
      nonce,
    };
    expectError(await phone.send('token', other), used);
    expectError(await service.token(form), used);
  });

  test('after a lost answer, the phone may repeat the login, for the ten minutes of the nonce', async () => {
    const form = await phone.loginForm();
    const [first, again] = [await phone.send('token', form), await phone.send('token', form)];
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(subOf(again)).toBe(subOf(first));
    running.advance(601);
    const late = await phone.send('token', form, await phone.proof('token', { iat: now() + 601 }));
    running.resetClock();
    expectError(late, used);
  });

  test.each<[string, StoreHook]>([
    ['the note of its use', ({ body }) => (isNote(body) ? 'fails after' : undefined)],
    [
      'the record of the login',
      ({ operation }) => (operation === 'UpdateItem' ? 'fails before' : undefined),
    ],
    [
      'its session',
      ({ operation, body }) =>
        operation === 'PutItem' && !isNote(body) ? 'fails before' : undefined,
    ],
  ])(
    'after a 500, since the store failed at %s, the phone may repeat the login',
    async (_, fault) => {
      const form = await phone.loginForm();
      const failed = await proxy.during(fault, () => phone.send('token', form));
      expect(failed.status).toBe(500);
      expect((await phone.send('token', form)).status).toBe(200);
      expectError(await (await thief()).send('token', form), used);
    },
  );

  test('after a 400 that the app can correct, the phone may repeat the login', async () => {
    const form = await phone.loginForm();
    const wrong = { ...form, code_verifier: 'v'.repeat(43) };
    expectError(await phone.send('token', wrong), invalidRequest);
    expect((await phone.send('token', form)).status).toBe(200);
  });

  test('after a link with a code that nobody exchanges, the phone may link without it', async () => {
    const { scene, app } = await newIssuerLogin(service, standIn);
    const own = await newPhone(service, await newPublicClient(service, app));
    const credential = async () => {
      const nonce = await own.nonce();
      const id_token = await scene.idToken({ sub: unique('person'), nonce });
      return { provider: 'provider_f', id_token, nonce };
    };
    const grant_type = 'provider_credentials';
    const { body } = await own.send('token', { grant_type, ...(await credential()) });
    const account = accountOf(service, body.access_token);
    const form = await credential();
    expectError(await account.link({ ...form, authorization_code: 'a-code' }), invalidRequest);
    expect((await account.link(form)).status).toBe(201);
  });

  test('of two phones at once, one passes, and it alone can repeat its login', async () => {
    const form = await phone.loginForm();
    const phones = await Promise.all(Array.from({ length: 8 }, thief));
    const answers = await Promise.all(phones.map((one) => one.send('token', form)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(400)]);
    for (const [place, one] of phones.entries())
      expect((await one.send('token', form)).status).toBe(answers[place]?.status);
  });

  test('none: 400; made up, of another Login App, changed or expired: the login is refused', async () => {
    const { nonce: _, ...without } = await phone.loginForm();
    const naming = 'The parameter nonce is required for a public client.';
    expectError(await phone.send('token', without), { ...invalidRequest, naming });
    const app = await createLoginApp(service, unique('app'));
    const stranger = await newPhone(
      service,
      await newPublicClient(service, { login_app_id: app.login_app_id }),
    );
    const own = await phone.nonce();
    const changed = `${own.slice(0, -1)}${own.endsWith('A') ? 'B' : 'A'}`;
    for (const nonce of ['made-up', await stranger.nonce(), changed]) {
      const form = { ...(await service.loginForm('provider_f', { nonce })), nonce };
      expectError(await phone.send('token', form), invalidGrant);
    }
    const late = await phone.loginForm();
    running.advance(601);
    const answer = await phone.send(
      'token',
      late,
      await phone.proof('token', { iat: now() + 601 }),
    );
    running.resetClock();
    expectError(answer, invalidGrant);
  });

  test('of a login that failed can be used: a wrong id token does not use it up', async () => {
    const form = await phone.loginForm();
    const wrong = { ...form, id_token: `${form.id_token}x` };
    expectError(await phone.send('token', wrong), invalidGrant);
    expect((await phone.send('token', form)).status).toBe(200);
  });

  test('is needed for a link, too, and counts for that alone', async () => {
    const { access_token } = (await phone.logIn()).body;
    const other = (await phone.logIn()).body.access_token;
    const link = async (form: Record<string, string>, token = access_token) => {
      const { grant_type: _, ...body } = form;
      return accountOf(service, token).link(body);
    };
    expectError(await link(await service.loginForm('provider_f')), invalidRequest);
    const form = await phone.loginForm();
    expect((await link(form)).status).toBe(201);
    expect((await link(form)).status).toBe(200);
    expectError(await link(form, other), used);
    expectError(await phone.send('token', form), used);
    const ofLogin = await phone.loginForm();
    expect((await phone.send('token', ofLogin)).status).toBe(200);
    expectError(await link(ofLogin), used);
  });

  test('confidential clients may use it, too; their own nonces go on', async () => {
    const made = await service.form('/v2/marketing/oauth/nonce', {}, asClient(demo.login_app));
    expectAnswer(made, 200, { nonce: expect.stringMatching(/^ln\./), expires_in: 600 });
    const { nonce } = made.body;
    const form = { ...(await service.loginForm('provider_f', { nonce })), nonce };
    expect([(await service.token(form)).status, (await service.token(form)).status]).toEqual([
      200, 200,
    ]);
    const server = await createClient(service, demo.login_app.login_app_id);
    expectError(await service.token(form, { ...demo.login_app, ...server }), used);
    expectError(await phone.send('token', form), used);
    const own = { ...(await service.loginForm('provider_f', { nonce: 'own' })), nonce: 'own' };
    expect([(await service.token(own)).status, (await service.token(own)).status]).toEqual([
      200, 200,
    ]);
  });

  test('an id token that has it counts nowhere without it', async () => {
    const { nonce: _, ...stolen } = await phone.loginForm();
    const naming = 'The parameter nonce is required: this id token counts with its nonce alone.';
    const expected = { ...invalidRequest, naming };
    expectError(await service.token(stolen), expected);
    const { grant_type: __, ...form } = stolen;
    const account = accountOf(service, (await service.logIn(unique('thief'))).body.access_token);
    expectError(await account.link(form), expected);
    expectError(await service.token({ ...stolen, nonce: 'own' }), invalidGrant);
    running.advance(601);
    expectError(await service.token(stolen), expected);
    running.resetClock();
  });

  test('an id token with its hash counts nowhere without it, where the settings say that tokens have hashes', async () => {
    const { scene, app } = await newIssuerLogin(service, standIn, { nonce_form: 'sha256' });
    const own = await newPhone(service, await newPublicClient(service, app));
    const nonce = await own.nonce();
    const hashed = createHash('sha256').update(nonce).digest('hex');
    const id_token = await scene.idToken({ sub: unique('person'), nonce: hashed });
    expectError(await service.byIdToken(id_token, app), invalidRequest);
    expectError(await service.byIdToken(id_token, app, { nonce: hashed }), invalidGrant);
    expect((await service.byIdToken(id_token, app, { nonce })).status).toBe(200);
    expect((await service.byIdToken(await scene.idToken(), app)).status).toBe(200);
  });

  test('nonces that nobody uses write nothing', async () => {
    proxy.forget();
    for (let made = 0; made < 100; made += 1) await phone.nonce();
    expect(proxy.calls().filter(({ operation }) => /Put|Update/.test(operation))).toEqual([]);
  });
});

/** Nobody who writes an app for phones may learn from an error to ship a secret in it. */
describe('an app that says wrongly who it is', () => {
  const { client_id } = demo.login_app;
  const unknown = `${client_id.split('.')[0]}.c_${'A'.repeat(22)}`;
  const noSuch =
    /^There is no public client of this client_id\. .* clients create --public; a phone can't keep a secret\./;
  const inForm = /^A public client sends its client_id in the form, and no Authorization\./;
  const withClientId = /^Send the client_id of a public client in the form or, from a server, /;
  const itIsPublic =
    /^The client is public: it has no secret\. .* client_id in the form, and no Authorization\.$/;
  const form = { grant_type: 'refresh_token', refresh_token: 'x' };

  test.each<[string, Record<string, string>, Record<string, string>, RegExp]>([
    ['with no client_id', {}, {}, withClientId],
    ['with an empty one', { client_id: '' }, {}, withClientId],
    ['with one of nobody', { client_id: unknown }, {}, noSuch],
    [
      'with a mistyped one',
      { client_id: 'my-app' },
      {},
      /a client id has the form la_\*\.c_\*\.$/i,
    ],
    ['with that of a server', { client_id }, {}, noSuch],
    [
      'with its client_id as a user without a password',
      {},
      { authorization: `Basic ${btoa(`${client}:`)}` },
      inForm,
    ],
    [
      'with its client_id and a made-up secret',
      {},
      asClient({ client_id: client, client_secret: 'x' }),
      itIsPublic,
    ],
    ['with its client_id as a token', {}, { authorization: `Bearer ${client}` }, inForm],
    ['with its client_id in a header', {}, { client_id: client }, withClientId],
  ])('%s: a 401 that names what to do', async (_, more, headers, naming) => {
    for (const endpoint of ['token', 'revoke', 'nonce']) {
      const answer = await service.form(
        `/v2/marketing/oauth/${endpoint}`,
        { ...form, ...more },
        headers,
      );
      expectError(answer, { ...invalidClient, naming });
    }
  });

  test('in the query, or in JSON: the form is named', async () => {
    const query = await service.form(`/v2/marketing/oauth/token?client_id=${client}`, form);
    expectError(query, { ...invalidClient, naming: withClientId });
    const inJson = await service.json('/v2/marketing/oauth/token', { ...form, client_id: client });
    const naming = 'The content type must be application/x-www-form-urlencoded.';
    expectError(inJson, { ...invalidRequest, naming });
  });

  test('at an endpoint for servers: it says so', async () => {
    const naming = /A public client can't call this endpoint\.$/;
    expectError(await phone.send('introspect', { token: 'x' }), { ...invalidClient, naming });
  });
});

describe('what a public client may not', () => {
  test('introspect, list the providers, read recipients, or act for itself', async () => {
    const token = await session();
    expectError(await phone.send('introspect', { token }), invalidClient);
    expectError(
      await phone.send('token', { grant_type: 'client_credentials' }),
      unauthorizedClient,
    );
    const headers = asClient({ client_id: client, client_secret: 'lcs_x' });
    for (const path of [
      '/v2/marketing/providers',
      '/v2/marketing/push_notifications/recipients?shard=0',
    ])
      expectError(await service.call(path, { headers }), invalidClient);
    const asConfidential = { ...demo.login_app, client_id: client, client_secret: 'lcs_x' };
    expectError(
      await service.token({ grant_type: 'client_credentials' }, asConfidential),
      invalidClient,
    );
  });

  test('be a confidential client without its secret', async () => {
    const confidential = await newPhone(service, demo.login_app.client_id);
    expectError(await confidential.logIn(), invalidClient);
    expectError(await confidential.send('nonce', {}, null), invalidClient);
  });

  test('get a secret or further grants', async () => {
    const of = { 'login-app': demo.login_app.login_app_id, client };
    await expect(operate('clients', 'rotate', of)).rejects.toThrow(/public/);
    const widened = operate('clients', 'update', { ...of, 'grant-types': 'client_credentials' });
    await expect(widened).rejects.toThrow(/public/);
  });

  test('go on once it is revoked', async () => {
    const gone = await newPublicClient(service);
    const other = await newPhone(service, gone);
    const token = await session(other);
    await operate('clients', 'revoke', { 'login-app': demo.login_app.login_app_id, client: gone });
    running.advance(31);
    const iat = now() + 31;
    const answer = await other.refresh(token, await other.proof('token', { iat }));
    running.resetClock();
    expectError(answer, invalidClient);
    expectAnswer(await service.revoke(token), 200, {});
  });
});

test('a confidential client that sends a DPoP header: as without it', async () => {
  const headers = { ...asClient(demo.login_app), dpop: 'x' };
  const form = await service.loginForm('provider_f');
  const answer = await service.form('/v2/marketing/oauth/token', form, headers);
  expectAnswer(answer, 200, tokenResponse);
  expectAnswer(await service.refresh(answer.body.refresh_token), 200, tokenResponse);
});
