import { text } from 'node:stream/consumers';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { accountOf } from '../support/account.ts';
import { createLoginApp } from '../support/login-app.ts';
import { newPerson } from '../support/people.ts';
import { ourApp, sendJson, startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const { service, running, dynamoDb, tableName } = await startServiceWithStore();
const standIn = await startProviderStandIn();

/** A Login App whose provider_b gives refresh tokens, and a person who has logged in there. */
async function newLogin({ keeps = true } = {}) {
  const scene = standIn.openScene();
  const token = unique('provider-refresh-token');
  const revoked: Record<string, string>[] = [];
  let status = 200;
  scene.misbehave('token', async (_, response) =>
    sendJson(response, 200, { id_token: await scene.idToken({ sub: subject }), refresh_token: token }),
  );
  scene.misbehave('revoke', async (request, response) => {
    revoked.push(Object.fromEntries(new URLSearchParams(await text(request))));
    // RFC 7009: the answer to a revocation has no content.
    response.writeHead(status).end();
  });
  const subject = unique('alice');
  const app = await createLoginApp(service, unique('app'));
  const settings = {
    authorization_code: {
      token_url: `${scene.url}/token`,
      client_id: ourApp,
      client_secret: 'our-secret',
      client_authentication: 'form',
      id_token: { issuer: scene.url },
      ...(keeps && { revocation_url: `${scene.url}/revoke` }),
    },
  };
  const flags = { 'login-app': app.login_app_id, provider: 'provider_b' };
  await service.operate('providers', 'set', { ...flags, settings });
  const code = { provider: 'provider_b', authorization_code: 'a-code' };
  const logIn = async () =>
    (await service.token({ grant_type: 'provider_authorization_code', ...code }, app)).body.access_token;
  const account = accountOf(service, await logIn());
  const { id } = (await account.show()).body;
  const answers = (next: number) => {
    status = next;
  };
  return { app, code, logIn, account, person: { 'login-user': id }, token, revoked, answers };
}

const revocation = (token: string) => ({
  token,
  token_type_hint: 'refresh_token',
  client_id: ourApp,
  client_secret: 'our-secret',
});
/** Whether any item of the table holds a text. */
const isStored = async (wanted: string): Promise<boolean> => {
  const { Items = [] } = await dynamoDb.send(new ScanCommand({ TableName: tableName }));
  return JSON.stringify(Items).includes(wanted);
};

describe("a provider's refresh token, where the settings have a revocation_url", () => {
  test('is revoked when the person is deleted, and is encrypted until then', async () => {
    const { account, token, revoked } = await newLogin();
    const id = (await account.show()).body.identities[0].id;
    expect([await isStored(`kept_token_of_${id}`), await isStored(token)]).toEqual([true, false]);
    expect((await account.remove()).status).toBe(204);
    expect(revoked).toEqual([revocation(token)]);
    expect((await account.remove()).status).toBe(401);
    expect(revoked).toHaveLength(1);
  });

  test('is revoked when the operator deletes the person', async () => {
    const { person, token, revoked } = await newLogin();
    await service.operate('login-users', 'delete', person);
    expect(revoked).toEqual([revocation(token)]);
  });

  test('of a linked identity is revoked too', async () => {
    const { code, token, revoked, app } = await newLogin();
    const scene = standIn.openScene();
    await service.operate('providers', 'set', {
      'login-app': app.login_app_id,
      provider: 'provider_f',
      settings: { issuers: [{ issuer: scene.url, audiences: [ourApp] }] },
    });
    const id_token = await scene.idToken({ sub: unique('bob') });
    const form = { grant_type: 'provider_credentials', provider: 'provider_f', id_token };
    // The first person gives the identity away.
    const first = (await service.token({ grant_type: 'provider_authorization_code', ...code }, app)).body;
    await accountOf(service, first.access_token).remove();
    revoked.length = 0;
    const account = accountOf(service, (await service.token(form, app)).body.access_token);
    expect((await account.link(code)).status).toBe(201);
    await account.remove();
    expect(revoked).toEqual([revocation(token)]);
  });

  test.each([500, 503, 400, 403, 302])(
    'the deletion goes on when the provider answers %i; the operator tries again',
    async (status) => {
      const { account, logIn, person, token, revoked, answers } = await newLogin();
      answers(status);
      expect((await account.remove()).status).toBe(204);
      expect((await account.remove()).status).toBe(401);
      await expect(accountOf(service, await logIn()).show()).resolves.not.toMatchObject({
        body: { id: person['login-user'] },
      });
      const retry = () => service.operate('login-users', 'retry-revocations', person);
      expect(await retry()).toMatchObject({ revoked: 0, not_revoked: 1 });
      answers(200);
      expect(await retry()).toMatchObject({ revoked: 1, not_revoked: 0 });
      expect(await retry()).toMatchObject({ revoked: 0, not_revoked: 0 });
      expect(revoked).toEqual(Array(3).fill(revocation(token)));
      expect(running.output()).toContain('provider_token_not_revoked');
    },
  );

  test('login-users delete says that a token is not revoked', async () => {
    const { person, answers } = await newLogin();
    answers(500);
    expect(await service.operate('login-users', 'delete', person)).toMatchObject({
      deleted: true,
      tokens_not_revoked: 1,
    });
  });

  test('retry-revocations of somebody who is not deleted: an error', async () => {
    const { loginUserId } = await newPerson(service);
    await expect(
      service.operate('login-users', 'retry-revocations', { 'login-user': loginUserId }),
    ).rejects.toThrow('No deleted Login User has this id.');
  });
});

test('without a revocation_url no refresh token is kept, and nothing is revoked', async () => {
  const { account, revoked } = await newLogin({ keeps: false });
  const id = (await account.show()).body.identities[0].id;
  expect(await isStored(`kept_token_of_${id}`)).toBe(false);
  expect((await account.remove()).status).toBe(204);
  expect(revoked).toEqual([]);
});
