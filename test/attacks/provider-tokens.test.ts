import { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { tokenExchange } from '../../lib/login-apps/client-metadata.ts';
import { clientKey } from '../../lib/storage/keys.ts';
import { expectError } from '../support/expectations.ts';
import { itemsAbout } from '../support/items-about.ts';
import { createClient } from '../support/login-app.ts';
import { identityIdsOf } from '../support/people.ts';
import { newPublicClient, newPhone as startPhone } from '../support/phone.ts';
import { newGrants, newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { accessTokenType, byId, byToken, exchangeOfId } from '../support/token-exchange.ts';

const own = await sharedServiceWithStore();
const { service, running } = own;
const standIn = await startProviderStandIn();
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
    const forms: Record<string, string>[] = [
      exchangeOfId(victim.loginUserId),
      {
        grant_type: tokenExchange,
        audience: 'provider_b',
        subject_token: victim.token,
        subject_token_type: accessTokenType,
      },
    ];
    for (const form of forms) {
      const answer = await phone.send('token', form);
      expectError(answer, {
        status: 400,
        error: 'unauthorized_client',
        naming: 'The client may not get tokens of providers.',
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
