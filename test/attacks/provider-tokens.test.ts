import { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { clientKey } from '../../lib/storage/keys.ts';
import { expectError } from '../support/expectations.ts';
import { newGuest } from '../support/guests.ts';
import { itemsAbout } from '../support/items-about.ts';
import { createClient } from '../support/login-app.ts';
import { sendMerge } from '../support/merges.ts';
import { identityIdsOf } from '../support/people.ts';
import { newPublicClient, newPhone as startPhone } from '../support/phone.ts';
import { loginNeeded, newGrants, newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { byId, byToken, exchangeOfId, exchangeOfToken } from '../support/token-exchange.ts';

const own = await sharedServiceWithStore();
const { service, running } = own;
const standIn = await startProviderStandIn();
const otherStandIn = await startProviderStandIn();
const bothRights = { ...byToken, ...byId };

/** A server with both rights, and a person. */
async function newVictim(options: Parameters<typeof newKeeper>[2] = {}) {
  const made = await newKeeper(service, standIn, { rights: bothRights, ...options });
  return { ...made, victim: await made.logIn() };
}

test('control: a server with the rights gets a token', async () => {
  const { exchangeFor, exchangeById, victim } = await newVictim();
  expect((await exchangeFor(victim.token)).status).toBe(200);
  expect((await exchangeById(victim.loginUserId)).status).toBe(200);
});

describe('a thief gets no token of a provider', () => {
  test('[CWE-862] with the secret of a client that may use all grants, but has not the right', async () => {
    const { app, exchangeFor, exchangeById, victim } = await newVictim();
    for (const answer of [
      await exchangeFor(victim.token, {}, app),
      await exchangeById(victim.loginUserId, {}, app),
    ])
      expect(answer.body.error).toBe('unauthorized_client');
  });

  test('[RFC 8693 5] as a public client, whatever is stored of its rights', async () => {
    const { app, exchangeFor, victim } = await newVictim();
    const { login_app_id } = app;
    const client_id = await newPublicClient(service, { login_app_id, providers: 'provider_b' });
    await expect(
      service.operate('clients', 'create', {
        'login-app': login_app_id,
        public: true,
        platform: 'ios',
        'provider-tokens': true,
      }),
    ).rejects.toThrow('Give --public with --platform');
    // As an operator of another version might write it.
    const table = DynamoDBDocumentClient.from(own.dynamoDb);
    const { tableName: TableName } = own;
    const Key = clientKey(login_app_id, client_id);
    const UpdateExpression = 'SET provider_tokens = :yes, provider_tokens_offline = :yes';
    const ExpressionAttributeValues = { ':yes': true };
    await table.send(
      new UpdateCommand({ TableName, Key, UpdateExpression, ExpressionAttributeValues }),
    );
    const phone = await startPhone(service, client_id);
    for (const form of [exchangeOfId(victim.loginUserId), exchangeOfToken(victim.token)]) {
      const answer = await phone.send('token', form);
      expectError(answer, {
        status: 400,
        error: 'unauthorized_client',
        naming: 'A public client may not get tokens of providers. Let a server ask for them.',
      });
    }
    expect((await exchangeFor(victim.token)).status).toBe(200);
  });

  test("[CWE-639] as the server of another Login App, with the person's token, id and identity", async () => {
    const { victim, exchangeFor } = await newVictim();
    const attacker = await newVictim();
    const [identity_id = ''] = identityIdsOf(await victim.account.show());
    for (const more of [{}, { identity_id }]) {
      const byTheirToken = await attacker.exchangeFor(victim.token, more);
      const byTheirId = await attacker.exchangeById(victim.loginUserId, more);
      expect([byTheirToken.body.error, byTheirId.body.error]).toEqual([
        'invalid_request',
        'invalid_request',
      ]);
    }
    // Their own token, with the identity of somebody else.
    const own = await attacker.exchangeFor(attacker.victim.token, { identity_id });
    expect(own.body.error).toBe('invalid_request');
    expect((await exchangeFor(victim.token)).status).toBe(200);
  });

  test('[CWE-639] with the identity of another person of the same Login App', async () => {
    const { victim, logIn, exchangeFor } = await newVictim();
    const mallory = await logIn();
    const [identity_id = ''] = identityIdsOf(await victim.account.show());
    expect((await exchangeFor(mallory.token, { identity_id })).body.error).toBe('invalid_request');
  });

  test('[RFC 8693 2.1] by any token that is no Login User Token', async () => {
    const { app, scene, victim, exchangeFor } = await newVictim();
    const provider = (await exchangeFor(victim.token)).body.access_token;
    const idToken = await scene.idToken({ sub: victim.subject });
    const { refresh_token } = victim.answer.body;
    const unsigned = `${victim.token.split('.').slice(0, 2).join('.')}.`;
    const tokens = [provider, idToken, refresh_token, unsigned, await service.loginAppToken(app)];
    for (const subject_token of tokens)
      expect((await exchangeFor(subject_token)).body.error).toBe('invalid_request');
  });

  test.each(['__proto__', 'constructor', 'toString', 'https://', 'provider_b\n', '%'])(
    '[CWE-1321] for the audience %j',
    async (audience) => {
      const { victim, exchangeFor } = await newVictim();
      expect((await exchangeFor(victim.token, { audience })).body.error).toBe('invalid_target');
    },
  );

  test.each<[string, (token: string) => string]>([
    ['cut at its end', (token) => token.slice(0, -4)],
    ['without its header', (token) => token.slice(token.indexOf('.') + 1)],
    ['twice', (token) => `${token} ${token}`],
    ['with 50 kB more', (token) => token + 'x'.repeat(50_000)],
  ])('[RFC 7519 7.2] by a Login User Token %s', async (_, change) => {
    const { victim, exchangeFor } = await newVictim();
    const { body, text } = await exchangeFor(change(victim.token));
    expect(body.error).toBe('invalid_request');
    expect(text.length).toBeLessThan(500);
  });

  test('[CWE-770] for an audience or an id of 50 kB', async () => {
    const { victim, exchangeFor, exchangeById } = await newVictim();
    const long = 'x'.repeat(50_000);
    const answers = [
      await exchangeFor(victim.token, { audience: `https://${long}` }),
      await exchangeFor(victim.token, { identity_id: `i_${long}` }),
      await exchangeById(`lu_${long}`),
    ];
    const errors = answers.map(({ body }) => body.error);
    expect(errors).toEqual(['invalid_target', 'invalid_request', 'invalid_request']);
    expect(Math.max(...answers.map(({ text }) => text.length))).toBeLessThan(500);
  });

  test.each(['audience', 'subject_token', 'subject_token_type', 'identity_id'])(
    '[RFC 6749 3.2] by a repeated %s',
    async (name) => {
      const { victim, server } = await newVictim();
      const [identity_id = ''] = identityIdsOf(await victim.account.show());
      const form = Object.entries({ ...exchangeOfToken(victim.token), identity_id });
      const repeated = form.filter(([one]) => one === name);
      expectError(await service.token([...form, ...repeated], server), {
        status: 400,
        error: 'invalid_request',
        naming: `The parameter ${name} is repeated.`,
      });
    },
  );

  test('[CWE-639] by the token of somebody who was merged, also of a guest whose session goes on', async () => {
    const { app, victim, exchangeFor, exchangeById, code, logIn } = await newVictim();
    const { login_app_id } = app;
    await service.operate('login-apps', 'set-guests', { 'login-app': login_app_id, days: 1 });
    running.advance(31);
    const guest = await newGuest(service, app);
    const other = await logIn();
    for (const caller of [guest, other])
      await sendMerge(service, caller, { keep: 'theirs', ...code(victim.subject) });
    expect((await guest.account.show()).body.merged_into).toBe(victim.loginUserId);
    for (const { token, loginUserId } of [guest, other]) {
      expect((await exchangeFor(token)).body.error).toBe('invalid_request');
      expect((await exchangeById(loginUserId)).body.error).toBe('invalid_request');
    }
    running.resetClock();
  });

  test('[CWE-367] by a refresh that is under way when the person is blocked', async () => {
    const grants = newGrants({ rotates: true });
    const { victim, exchangeById } = await newVictim({ grants });
    running.advance(3601);
    const person = { 'login-user': victim.loginUserId };
    grants.beforeRefresh = async () => {
      grants.beforeRefresh = async () => {};
      await service.operate('login-users', 'block', person);
    };
    expectError(await exchangeById(victim.loginUserId), {
      status: 400,
      error: 'invalid_grant',
      naming: 'The Login User is blocked.',
    });
    // Nothing is lost for the person.
    await service.operate('login-users', 'unblock', person);
    expect((await exchangeById(victim.loginUserId)).status).toBe(200);
    running.resetClock();
  });

  test('[CWE-367] by a refresh that is under way when the person is deleted', async () => {
    const grants = newGrants({ rotates: true });
    const { victim, exchangeById, scene, set } = await newVictim({ grants });
    await set({ revocation_url: `${scene.url}/revoke` });
    running.advance(3601);
    grants.beforeRefresh = async () => {
      grants.beforeRefresh = async () => {};
      await service.operate('login-users', 'delete', { 'login-user': victim.loginUserId });
    };
    expect((await exchangeById(victim.loginUserId)).status).toBe(400);
    running.resetClock();
    // The token of before, and the one that came meanwhile.
    expect(scene.forms('revoke')).toHaveLength(2);
    const [item, ...others] = await itemsAbout(own, victim.loginUserId);
    expect(others).toEqual([]);
    expect(JSON.stringify(item)).not.toContain('token');
  });
});

test('[CWE-522] no answer has a refresh token, and neither has what the table stores in the clear', async () => {
  const { victim, exchangeById } = await newVictim({ grants: newGrants({ rotates: true }) });
  running.advance(3601);
  const answers = [await exchangeById(victim.loginUserId), await victim.account.show()];
  running.resetClock();
  expect(answers.map(({ text }) => text).join()).not.toContain('provider-refresh');
  expect(await itemsAbout(own, 'provider-refresh')).toEqual([]);
  expect(await itemsAbout(own, 'provider-access')).toEqual([]);
});

test('[CWE-201] settings that name another provider by now show it no token of the earlier one, and servers get none in its name', async () => {
  const { app, scene, set, victim, exchangeById, exchangeFor } = await newVictim();
  const other = otherStandIn.openScene();
  await set({
    token_url: `${other.url}/token`,
    revocation_url: `${other.url}/revoke`,
    id_token: { issuer: other.url },
  });
  running.advance(31);
  expectError(await exchangeFor(victim.token), loginNeeded);
  running.advance(3600);
  expectError(await exchangeById(victim.loginUserId), loginNeeded);
  expect(await exchangeById(victim.loginUserId, { audience: scene.url })).toMatchObject({
    body: { error: 'invalid_target' },
  });
  const person = { 'login-user': victim.loginUserId };
  await service.operate('providers', 'tokens revoke', { 'login-app': app.login_app_id });
  await service.operate('login-users', 'delete', person);
  running.resetClock();
  expect([other.calls('token'), other.calls('revoke')]).toEqual([0, 0]);
  expect(await itemsAbout(own, 'kept_token_of')).not.toContainEqual(
    expect.objectContaining({ login_user_id: victim.loginUserId }),
  );
});

describe('a provider that repeats our credentials in an error leaks none of them into a line or an answer', () => {
  /** Answers with a text wherever an answer has one. */
  const echo =
    (status: number, contentType = 'application/json') =>
    async ({ refresh_token = '', code = '', token = '' }: Record<string, string>) => {
      const text = refresh_token || code || token;
      const error = { error: text, error_description: text, error_uri: text, message: text };
      const body = contentType === 'text/plain' ? text : { ...error, [text]: text };
      return { status, body, headers: { 'content-type': contentType, 'x-echo': text } };
    };
  const ways: [number, string][] = [
    [200, 'application/json'],
    [400, 'application/json'],
    [400, 'text/plain'],
    [401, 'application/json'],
    [403, 'application/json'],
    [413, 'application/json'],
    [500, 'application/json'],
  ];

  test.each(ways)('[CWE-532] by a %i as %s', async (status, contentType) => {
    const made = await newVictim({ grants: newGrants({ lifetime: 0 }) });
    const { victim, exchangeById, logIn, scene, set, grants } = made;
    await set({ revocation_url: `${scene.url}/revoke` });
    running.advance(31);
    for (const endpoint of ['token', 'revoke']) scene.answer(endpoint, echo(status, contentType));
    const stolenCode = unique('code-of-alice');
    const answers = [
      await exchangeById(victim.loginUserId),
      (await logIn(stolenCode)).answer,
      await victim.account.remove(),
    ];
    running.resetClock();
    const [refreshed, loggedIn] = answers;
    expect([refreshed?.status, loggedIn?.status]).not.toContain(200);

    const told = answers.map(({ text }) => text).join();
    for (const written of [told, running.output(), running.audit()])
      for (const secret of [...grants.refreshTokens, stolenCode, 'provider-access-'])
        expect(written).not.toContain(secret);
  });
});

test('[CWE-117] the scopes of a hostile provider forge no line, and its tokens are not cut into the log', async () => {
  const scope = `a\n{"event":"forged-${unique('line')}"}`;
  const grants = Object.assign(newGrants(), { scope });
  const { victim, exchangeFor } = await newVictim({ grants });
  const answer = await exchangeFor(victim.token);
  expect(answer.status).toBe(200);
  expect(answer.body).not.toHaveProperty('scope');
  expect(running.output()).not.toContain('forged-');
});

test("[CWE-799] a client's minute is its own: one that has had its tokens takes none from others", async () => {
  const { app, victim, exchangeFor, server } = await newVictim();
  const other = await createClient(service, app.login_app_id, bothRights);
  const full = { status: 400, body: { __type: 'x#ConditionalCheckFailedException' } };
  let counted: string[] = [];
  await own.proxy.during(
    ({ operation, body }) => {
      const text = JSON.stringify(body);
      if (operation !== 'UpdateItem' || !text.includes('USES')) return undefined;
      counted = [...counted, JSON.stringify(body.Key)];
      return counted.length === 1 ? full : undefined;
    },
    async () => {
      expect((await exchangeFor(victim.token, {}, server)).status).toBe(429);
      expect((await exchangeFor(victim.token, {}, other)).status).toBe(200);
    },
  );
  expect(new Set(counted).size).toBe(2);
});
