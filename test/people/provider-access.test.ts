import { describe, expect, test } from '@jest/globals';
import { tokenExchange } from '../../lib/login-apps/client-metadata.ts';
import { expectAnswer, expectError, timestamp } from '../support/expectations.ts';
import { newGuest } from '../support/guests.ts';
import { itemsAbout } from '../support/items-about.ts';
import { auditLines, logLines } from '../support/log-lines.ts';
import { createClient, createLoginApp, type LoginApp } from '../support/login-app.ts';
import { accountOf, identityIdsOf } from '../support/people.ts';
import { loginNeeded, newGrants, newKeeper } from '../support/provider-access.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { type Answer, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { accessTokenType, byId, byToken, exchangeOfToken } from '../support/token-exchange.ts';

const own = await sharedServiceWithStore();
const { service, running, proxy } = own;
const standIn = await startProviderStandIn();

const isStored = async (text: string): Promise<boolean> => (await itemsAbout(own, text)).length > 0;

describe('a server with the right provider-tokens', () => {
  test("gets the provider's access token for a Login User Token, and no refresh token", async () => {
    const { logIn, exchangeFor, grants, server } = await newKeeper(service, standIn);
    const { token, account, loginUserId } = await logIn();
    const answer = await exchangeFor(token);
    expectAnswer(answer, 200, {
      access_token: expect.stringMatching(/^provider-access-/),
      issued_token_type: accessTokenType,
      token_type: 'bearer',
      expires_in: expect.any(Number),
      scope: 'calendar.readonly email',
    });
    expect(answer.body.expires_in).toBeGreaterThan(3590);
    expect((await exchangeFor(token)).body.access_token).toBe(answer.body.access_token);
    expect(grants.refreshes).toBe(0);

    // The person and the operator see that there is one.
    const shown = { scopes: ['calendar.readonly', 'email'], since: timestamp };
    const [identity] = (await account.show()).body.identities;
    expect(identity.provider_access).toEqual(shown);
    const person = { 'login-user': loginUserId };
    const exported = await service.operate('login-users', 'export', person);
    expect(exported.identities).toMatchObject([{ provider_access: shown }]);

    // It is encrypted, and no line has it.
    const request_id = answer.headers.get('x-request-id');
    expect(await isStored(answer.body.access_token)).toBe(false);
    expect(await isStored('provider-refresh')).toBe(false);
    const about = { client_id: server.client_id, login_user_id: loginUserId, request_id };
    const provider = { provider: 'provider_b', provider_scopes: 'calendar.readonly email' };
    expect(logLines(running)).toContainEqual(
      expect.objectContaining({
        event: 'provider_token_issued',
        identity_id: identity.id,
        refreshed: false,
        ...about,
        ...provider,
      }),
    );
    expect(auditLines(running)).toContainEqual(
      expect.objectContaining({
        identity_id: identity.id,
        result: 'done',
        grant_type: tokenExchange,
        ...about,
        ...provider,
      }),
    );
    const written = running.output() + running.audit() + JSON.stringify(exported);
    expect(written).not.toContain('provider-access-');
    expect(written).not.toContain('provider-refresh-');
  });

  test('gets the next one when less than a minute is left, and the refresh token stays', async () => {
    const { logIn, exchangeFor, scene } = await newKeeper(service, standIn);
    const { token } = await logIn();
    const first = (await exchangeFor(token)).body.access_token;
    running.advance(3535);
    expect((await exchangeFor(token)).body.access_token).toBe(first);
    running.advance(10);
    const second = await exchangeFor(token);
    expect(second.body.access_token).not.toBe(first);
    expect(second.body.expires_in).toBe(3600);
    running.advance(3595);
    // The Login User Token has expired, the grant has not.
    expect((await exchangeFor((await logIn()).token)).status).toBe(200);
    running.resetClock();
    const [refresh] = scene.forms('token').filter((form) => form.grant_type === 'refresh_token');
    expect(refresh).toEqual({
      grant_type: 'refresh_token',
      refresh_token: expect.stringMatching(/^provider-refresh-/),
    });
  });

  test('with the right provider-tokens-offline, gets it for an id while the person is away', async () => {
    for (const rotates of [true, false]) {
      const grants = newGrants({ rotates });
      const { logIn, exchangeById } = await newKeeper(service, standIn, { grants, rights: byId });
      const { loginUserId } = await logIn();
      for (let hours = 0; hours < 3; hours += 1) {
        expect(await exchangeById(loginUserId)).toMatchObject({ status: 200 });
        running.advance(3600);
      }
      running.resetClock();
      expect(grants.refreshes).toBe(2);
    }
  });

  test('gets it for an audience that is the issuer, with the codes of id tokens, too', async () => {
    const made = await newKeeper(service, standIn);
    const { app, scene, exchangeFor, grants } = made;
    const { token } = await made.logIn();
    expect((await exchangeFor(token, { audience: scene.url })).status).toBe(200);

    // Beside an id token of provider_f, for an issuer that has no revocation endpoint.
    const other = standIn.openScene();
    const code_exchange = {
      token_url: `${other.url}/token`,
      client_id: ourApp,
      client_secret: 'our-secret',
      keep_tokens: true,
    };
    const issuer = { issuer: other.url, audiences: [ourApp], code_exchange };
    await service.setProvider(app, 'provider_f', { issuers: [issuer] });
    const id_token = await other.idToken({ sub: unique('bob') });
    let refresh_token: string | undefined = unique('provider-refresh');
    other.answer('token', async () => ({
      body: { ...grants.issue(refresh_token), id_token },
    }));
    const code = { authorization_code: 'a-code' };
    const logIn = async () => (await service.byIdToken(id_token, app, code)).body.access_token;
    const bob = await logIn();
    const audience = { audience: other.url };
    const first = await exchangeFor(bob, audience);
    expect(first.status).toBe(200);
    expectError(await exchangeFor(bob), loginNeeded);

    // A later login whose code gives no refresh token leaves what is kept.
    refresh_token = undefined;
    const again = await exchangeFor(await logIn(), { audience: 'provider_f' });
    expect(again.body.access_token).toBe(first.body.access_token);
    expect(running.output()).not.toContain('code_not_exchanged');

    // From the moment that the issuer keeps nothing any more, nobody gets it.
    const revocation_url = `${other.url}/revocation`;
    const keepsNothing = { ...code_exchange, revocation_url, keep_tokens: false };
    await service.setProvider(app, 'provider_f', {
      issuers: [{ ...issuer, code_exchange: keepsNothing }],
    });
    for (const meant of [other.url, 'provider_f']) {
      const refused = await exchangeFor(bob, { audience: meant });
      expect(refused.body.error).toBe('invalid_target');
    }
  });

  test('says which of two identities it means', async () => {
    const { logIn, code, exchangeFor } = await newKeeper(service, standIn);
    const { token, account } = await logIn();
    expect((await account.link(code(unique('other')))).status).toBe(201);
    const ids = identityIdsOf(await account.show());
    expectError(await exchangeFor(token), {
      status: 400,
      error: 'invalid_request',
      naming: `The Login User has several identities there; identity_id must be one of ${ids.join(', ')}.`,
    });
    const [one, other] = await Promise.all(
      ids.map((identity_id) => exchangeFor(token, { identity_id })),
    );
    expect([one?.status, other?.status]).toEqual([200, 200]);
    expect(one?.body.access_token).not.toBe(other?.body.access_token);
    expectError(await exchangeFor(token, { identity_id: `i_${'x'.repeat(22)}` }), {
      status: 400,
      error: 'invalid_request',
      naming: 'The Login User has no identity of this identity_id.',
    });
  });
});

describe('an exchange is refused', () => {
  test('to a client without the right, or with the other one', async () => {
    const { app, logIn, exchangeFor, exchangeById } = await newKeeper(service, standIn);
    const { token, loginUserId } = await logIn();
    const newClient = (flags: object) => createClient(service, app.login_app_id, flags);
    const [offline, both] = [await newClient(byId), await newClient({ ...byToken, ...byId })];
    const refused = (naming: RegExp) => ({ status: 400, error: 'unauthorized_client', naming });
    expectError(
      await exchangeFor(token, {}, app),
      refused(
        /^The client may not get tokens .* can allow it by clients update with --provider-tokens.$/,
      ),
    );
    expectError(
      await exchangeById(loginUserId),
      refused(/by subject_token, and by no login_user_id\. .* with --provider-tokens-offline.$/),
    );
    expectError(
      await exchangeFor(token, {}, offline),
      refused(/by login_user_id, and by no subject_token\. .* with --provider-tokens.$/),
    );
    for (const answer of [
      await exchangeFor(token, {}, both),
      await exchangeById(loginUserId, {}, both),
    ])
      expect(answer.status).toBe(200);
  });

  test('and every other request of a client with this right alone is told what it may do', async () => {
    const { app, logIn, scene } = await newKeeper(service, standIn);
    const { answer, token } = await logIn();
    const { refresh_token } = answer.body;
    const deeds = (more: string) => ({
      status: 400,
      error: 'unauthorized_client',
      naming: `The client may only introspect tokens${more}.`,
    });
    const exchange = `get tokens of providers (grant_type=${tokenExchange})`;
    const rights: [object, string][] = [
      [byToken, ` and ${exchange}`],
      [byId, ` and ${exchange}`],
      [{ ...byToken, recipients: true }, `, read recipients and ${exchange}`],
      [{ 'grant-types': 'none', recipients: true }, ' and read recipients'],
      [{ 'grant-types': 'none' }, ''],
    ];
    const { length: asked } = scene.forms('token');
    for (const [flags, more] of rights) {
      const client = await createClient(service, app.login_app_id, flags);
      const forms = [
        { grant_type: 'refresh_token', refresh_token },
        { grant_type: 'client_credentials' },
        { grant_type: 'guest' },
        {
          grant_type: 'provider_authorization_code',
          provider: 'provider_b',
          authorization_code: 'x',
        },
      ];
      for (const form of forms) expectError(await service.token(form, client), deeds(more));
      expectError(await service.revoke(refresh_token, client), deeds(more));
      expect((await service.introspect(token, client)).body.active).toBe(true);
    }
    expect(scene.forms('token')).toHaveLength(asked);
  });

  test.each<[string, Record<string, string>, string]>([
    ['a token without its type', { subject_token_type: '' }, 'Send either subject_token with'],
    ['a type without a token', { subject_token: '' }, 'Send either subject_token with'],
    ['both', { login_user_id: `lu_${'x'.repeat(43)}` }, 'Send either subject_token with'],
    ['no audience', { audience: '' }, 'The parameter audience is required.'],
    ['another type', { subject_token_type: 'x' }, 'The subject_token_type must be one of'],
    ['another wish', { requested_token_type: 'x' }, 'The requested_token_type must be urn:'],
    ['a resource', { resource: 'https://api.example' }, 'The parameter resource must not'],
    ['an actor', { actor_token: 'x' }, 'The parameter actor_token must not be supplied'],
    ['an identity of no id', { identity_id: 'x' }, 'The identity_id must be a complete id'],
  ])('with %s', async (_, more, naming) => {
    const { logIn, exchangeFor } = await newKeeper(service, standIn);
    const answer = await exchangeFor((await logIn()).token, more);
    expectError(answer, { status: 400, error: 'invalid_request', naming: new RegExp(naming) });
  });

  test.each(['provider_a', 'provider_f', 'https://issuer.example', 'calendar'])(
    'for the audience %s, which keeps nothing',
    async (audience) => {
      const { logIn, exchangeFor } = await newKeeper(service, standIn);
      expectError(await exchangeFor((await logIn()).token, { audience }), {
        status: 400,
        error: 'invalid_target',
        naming: /whose settings have keep_tokens/,
      });
    },
  );

  test("for another Login App's token, an expired one, one of an ended session, and any other text", async () => {
    const { logIn, exchangeFor, app } = await newKeeper(service, standIn);
    const stranger = await (await newKeeper(service, standIn)).logIn();
    const { token, account, answer } = await logIn();
    const invalid = {
      status: 400,
      error: 'invalid_request',
      naming: 'The subject_token is not a valid Login User Token of this Login App.',
    };
    const loginAppToken = await service.loginAppToken(app);
    const { refresh_token } = answer.body;
    for (const one of [stranger.token, loginAppToken, refresh_token, `${token}x`, 'x'])
      expectError(await exchangeFor(one), invalid);
    running.advance(3601);
    expectError(await exchangeFor(token), invalid);
    running.resetClock();
    expect((await exchangeFor(token)).status).toBe(200);
    await account.endSessions();
    expectError(await exchangeFor(token), invalid);
  });

  test('for a person of another Login App as for nobody', async () => {
    const { exchangeById } = await newKeeper(service, standIn, { rights: byId });
    const stranger = await (await newKeeper(service, standIn)).logIn();
    for (const id of [stranger.loginUserId, `lu_${'x'.repeat(43)}`])
      expectError(await exchangeById(id), {
        status: 400,
        error: 'invalid_request',
        naming: 'The Login App has no such Login User.',
      });
  });

  test('for a blocked person, and while the Login App is disabled', async () => {
    const { app, logIn, exchangeById } = await newKeeper(service, standIn, { rights: byId });
    const { loginUserId } = await logIn();
    const person = { 'login-user': loginUserId };
    await service.operate('login-users', 'block', person);
    expectError(await exchangeById(loginUserId), {
      status: 400,
      error: 'invalid_grant',
      naming: 'The Login User is blocked.',
    });
    await service.operate('login-users', 'unblock', person);
    expect((await exchangeById(loginUserId)).status).toBe(200);
    await service.operate('login-apps', 'disable', { 'login-app': app.login_app_id });
    running.advance(31);
    expect((await exchangeById(loginUserId)).body.error).toBe('unauthorized_client');
    running.resetClock();
  });

  test('within thirty seconds of the right being taken away', async () => {
    const { app, server, logIn, exchangeFor } = await newKeeper(service, standIn);
    const { token } = await logIn();
    expect((await exchangeFor(token)).status).toBe(200);
    await service.operate('clients', 'update', {
      'login-app': app.login_app_id,
      client: server.client_id,
      'grant-types': 'none',
    });
    running.advance(30);
    expect((await exchangeFor(token)).body.error).toBe('unauthorized_client');
    running.resetClock();
  });

  test('within thirty seconds of the client being revoked, or the client of the Login User Token', async () => {
    const { app, server, logIn, exchangeFor, exchangeById } = await newKeeper(service, standIn);
    const { login_app_id } = app;
    const other = await createClient(service, login_app_id, { ...byToken, ...byId });
    const { token, loginUserId } = await logIn();
    const revoke = ({ client_id }: LoginApp) =>
      service.operate('clients', 'revoke', { 'login-app': login_app_id, client: client_id });
    for (const client of [server, other])
      expect((await exchangeFor(token, {}, client)).status).toBe(200);

    await revoke(server);
    running.advance(30);
    expectError(await exchangeFor(token), { status: 401, error: 'invalid_client' });
    expect((await exchangeFor(token, {}, other)).status).toBe(200);

    await revoke(app);
    running.advance(30);
    expect((await exchangeFor(token, {}, other)).body.error).toBe('invalid_request');
    // The person is still there, and what they have consented to.
    expect((await exchangeById(loginUserId, {}, other)).status).toBe(200);
    running.resetClock();
  });

  test('for a guest, who has no identity', async () => {
    const { app, exchangeFor } = await newKeeper(service, standIn);
    const days = { 'login-app': app.login_app_id, days: 1 };
    await service.operate('login-apps', 'set-guests', days);
    expectError(await exchangeFor((await newGuest(service, app)).token), loginNeeded);
  });

  test('where the settings no longer keep anything, and for a person who logged in while they did not', async () => {
    const { set, logIn, exchangeFor } = await newKeeper(service, standIn);
    const { token } = await logIn();
    expect((await exchangeFor(token)).status).toBe(200);
    await set({ keep_tokens: false });
    expect((await exchangeFor(token)).body.error).toBe('invalid_target');
    running.advance(31);
    const later = await logIn();
    expect((await later.account.show()).body.identities[0]).not.toHaveProperty('provider_access');
    await set();
    expectError(await exchangeFor(later.token), loginNeeded);
    running.resetClock();
  });
});

describe('a login without a code keeps nothing, and leaves what an earlier code has brought', () => {
  /** A person by id token alone and with a code, whose settings keep tokens. */
  async function byIdTokens() {
    const scene = standIn.openScene();
    const app = await createLoginApp(service, unique('app'));
    const code_exchange = {
      token_url: `${scene.url}/token`,
      client_id: ourApp,
      client_secret: 'our-secret',
      keep_tokens: true,
    };
    await service.setProvider(app, 'provider_f', {
      issuers: [{ issuer: scene.url, audiences: [ourApp], code_exchange }],
    });
    const id_token = await scene.idToken({ sub: unique('alice') });
    scene.answer('token', async () => ({ body: { ...newGrants().begin(), id_token } }));
    return {
      app,
      scene,
      provider: 'provider_f',
      logIn: () => service.byIdToken(id_token, app),
      logInByCode: () => service.byIdToken(id_token, app, { authorization_code: 'a-code' }),
    };
  }

  /** A person by access token alone and with a code, whose settings keep tokens. */
  async function byAccessTokens() {
    const scene = standIn.openScene();
    const app = await createLoginApp(service, unique('app'));
    const ours = { client_id: ourApp, client_secret: 'our-secret' };
    await service.setProvider(app, 'provider_b', {
      namespace: scene.url,
      user_info: { url: `${scene.url}/user_info` },
      audience_validation: {
        method: 'introspection',
        url: `${scene.url}/introspection`,
        audiences: [ourApp],
        ...ours,
      },
      authorization_code: { token_url: `${scene.url}/token`, keep_tokens: true, ...ours },
    });
    scene.answer('token', { body: newGrants().begin() });
    const provider = 'provider_b';
    const access_token = unique('provider-access');
    return {
      app,
      scene,
      provider,
      logIn: () =>
        service.token({ grant_type: 'provider_credentials', provider, access_token }, app),
      logInByCode: () => {
        const grant_type = 'provider_authorization_code';
        return service.token({ grant_type, provider, authorization_code: 'a-code' }, app);
      },
    };
  }

  test.each([
    ['an id token alone', byIdTokens],
    ['an access token alone', byAccessTokens],
  ])('with %s', async (_, newLogin) => {
    const { app, scene, provider, logIn, logInByCode } = await newLogin();
    const server = await createClient(service, app.login_app_id, byToken);
    const exchange = ({ body: { access_token: subject_token } }: Answer) =>
      service.token(exchangeOfToken(subject_token, provider), server);
    const accessOf = async ({ body }: Answer) =>
      (await accountOf(service, body.access_token).show()).body.identities[0].provider_access;

    const without = await logIn();
    expect(await accessOf(without)).toBeUndefined();
    expectError(await exchange(without), {
      status: 400,
      error: 'invalid_grant',
      naming: `The person has to log in again with ${provider}.`,
    });
    expect(scene.calls('token')).toBe(0);

    const access = await exchange(await logInByCode());
    expect(access.status).toBe(200);
    const later = await logIn();
    expect(await accessOf(later)).toMatchObject({ since: timestamp });
    expect((await exchange(later)).body.access_token).toBe(access.body.access_token);
  });
});

test('a client gets so many tokens in a minute, and is told when to go on', async () => {
  const { logIn, exchangeFor } = await newKeeper(service, standIn);
  const { token } = await logIn();
  expect((await exchangeFor(token)).status).toBe(200);
  // The store answers as if the minute had had them all.
  const full = { status: 400, body: { __type: 'x#ConditionalCheckFailedException', Item: {} } };
  const answer = await proxy.during(
    ({ operation, body }) =>
      operation === 'UpdateItem' && JSON.stringify(body).includes('USES') ? full : undefined,
    () => exchangeFor(token),
  );
  expectError(answer, {
    status: 429,
    error: 'too_many_requests',
    naming: 'The client may get 600 tokens of providers in a minute.',
  });
  const seconds = Number(answer.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(60);
});
