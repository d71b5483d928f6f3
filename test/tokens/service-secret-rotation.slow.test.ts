import { randomUUID } from 'node:crypto';
import { GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, expect, test } from '@jest/globals';
import { localDynamoDb } from '../../infra/local/dynamodb.ts';
import { rotateServiceSecrets, rotationSteps } from '../../infra/local/stack.ts';
import { invokeFunction } from '../../infra/operator/call/invoke-function.ts';
import { firstIdentityId, identityAttributes } from '../../lib/login-users/linked-identity.ts';
import { loginUserKey, providerSettingsKey } from '../../lib/storage/keys.ts';
import { createClient, createLoginApp, demoSettings } from '../support/login-app.ts';
import { ownService } from '../support/own-service.ts';
import { subOf } from '../support/people.ts';
import { newGrants } from '../support/provider-access.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { noFailure, steadyTraffic } from '../support/steady-traffic.ts';
import { awsEndpointOf } from '../support/stolen-signing-keys.ts';
import { byId, exchangeOfId } from '../support/token-exchange.ts';

const minutes = 60;
const days = 24 * 60 * minutes;

const { running, service } = await ownService({}, { movableClock: true });
const other = await ownService({ JOIN: running.directory }, { movableClock: true });
const standIn = await startProviderStandIn();

const advance = (seconds: number): void => {
  running.advance(seconds);
  other.running.advance(seconds);
};
const rotate = (): Promise<void> => rotateServiceSecrets(awsEndpointOf(running));

/** Which key a refresh token was made with. */
const keyOf = (refreshToken: string): string | undefined => refreshToken.split('.')[4];

const dynamoDb = localDynamoDb(service.demo.dynamodb_endpoint);
afterAll(() => dynamoDb.destroy());
const TableName = service.demo.table_name;

/** Which key the settings of a provider are encrypted with. */
async function keyOfSettings(
  loginAppId = service.demo.login_app.login_app_id,
): Promise<string | undefined> {
  const Key = providerSettingsKey(loginAppId, 'provider_e');
  const { Item } = await dynamoDb.send(new GetCommand({ TableName, Key, ConsistentRead: true }));
  return String(Item?.settings.audience_validation.app_token_secret).split('.')[0];
}

test('two rotations under steady traffic at two instances: not one failure; tokens and settings move to the new keys', async () => {
  advance(10 * minutes);
  const unused = (await service.logIn(unique('bob'), 'provider_e')).body.refresh_token;
  const settingsKeys = [await keyOfSettings()];
  const refreshKeys = [keyOf(unused)];
  const traffic = steadyTraffic(service, other.service);
  await traffic.round();
  for (let rotation = 0; rotation < 2; rotation += 1) {
    await rotate();
    // Of the two instances each still uses what it has read, unless it has read nothing yet.
    await traffic.round();
    settingsKeys.push(await keyOfSettings());
    running.advance(5 * minutes);
    await traffic.round();
    other.running.advance(5 * minutes);
    await traffic.round();
    refreshKeys.push(keyOf(traffic.refreshTokens.at(-1) ?? ''));
    advance(5 * minutes);
  }
  await traffic.round();
  await traffic.stop();
  expect(Object.keys(traffic.statuses).sort()).toEqual(noFailure);
  expect(new Set(settingsKeys).size).toBe(3);
  expect(new Set(refreshKeys).size).toBe(3);

  const refreshed = await service.refresh(unused);
  expect(refreshed.status).toBe(200);
  expect(keyOf(refreshed.body.refresh_token)).toBe(refreshKeys.at(-1));
});

test('a refresh token that is used after 29 days and many rotations is still valid', async () => {
  const { refresh_token } = (await service.logIn(unique('carol'), 'provider_e')).body;
  for (let rotation = 0; rotation < 6; rotation += 1) {
    advance(10 * minutes);
    await rotate();
  }
  advance(29 * days - 60 * minutes);
  await rotate();
  advance(10 * minutes);
  expect((await other.service.refresh(refresh_token)).status).toBe(200);
  expect((await other.service.logIn(unique('carol'), 'provider_e')).status).toBe(200);
});

/** A person of whom a token is kept, and a server that gets it. No id token is too old by the clock. */
async function newKeptToken() {
  const scene = standIn.openScene();
  const app = await createLoginApp(service, unique('app'));
  const grants = newGrants();
  scene.answer('token', async ({ grant_type, refresh_token }) =>
    grant_type === 'refresh_token' ? grants.refresh(refresh_token) : { body: grants.begin() },
  );
  const authorization_code = {
    token_url: `${scene.url}/token`,
    client_id: ourApp,
    client_secret: 'our-secret',
    keep_tokens: true,
  };
  const user_info = { url: `${scene.url}/user_info` };
  const settings = { namespace: scene.url, user_info, authorization_code };
  await service.setProvider(app, 'provider_b', settings);
  const grant_type = 'provider_authorization_code';
  const code = { provider: 'provider_b', authorization_code: 'a-code' };
  const loginUserId = String(subOf(await service.token({ grant_type, ...code }, app)));
  const server = await createClient(service, app.login_app_id, byId);
  return { loginUserId, exchange: () => service.token(exchangeOfId(loginUserId), server) };
}

test("a provider's token that is kept has the key of the provider settings, which a rotation replaces with the next refresh", async () => {
  advance(10 * minutes);
  await rotate();
  advance(10 * minutes);
  const { loginUserId, exchange } = await newKeptToken();
  const Key = loginUserKey(loginUserId);
  /** Which keys the refresh token and the access token are encrypted with. */
  const keysOfToken = async () => {
    const { Item } = await dynamoDb.send(new GetCommand({ TableName, Key, ConsistentRead: true }));
    const kept = Item?.[identityAttributes.providerToken(firstIdentityId(loginUserId))];
    const secrets = [kept.token_secret, kept.access_token_secret];
    return secrets.map((text) => String(text).split('.')[0]);
  };
  const before = await keyOfSettings();
  expect(await keysOfToken()).toEqual([before, before]);

  for (let rotation = 0; rotation < 2; rotation += 1) {
    await rotate();
    advance(10 * minutes);
  }
  expect((await exchange()).status).toBe(200);
  expect(await keysOfToken()).toEqual([before, before]);
  advance(60 * minutes);
  expect((await exchange()).status).toBe(200);
  const after = await keyOfSettings();
  expect(after).not.toBe(before);
  expect(await keysOfToken()).toEqual([after, after]);
});

test('a rotation within ten minutes of the one before fails and changes nothing', async () => {
  advance(10 * minutes);
  await rotate();
  advance(9 * minutes);
  await expect(rotate()).rejects.toThrow(
    'The next secret is not known everywhere yet. Rotate again after ',
  );
  const { refresh_token } = (await service.logIn(unique('dora'), 'provider_e')).body;
  expect((await service.refresh(refresh_token)).status).toBe(200);
  advance(1 * minutes);
  await rotate();
});

/** The steps of one rotation of the secret of provider settings, each when the test wants it. */
function stepByStep() {
  const event = { SecretId: 'provider-settings', ClientRequestToken: randomUUID() };
  const rotation = { name: 'rotate-service-secrets', endpoint: awsEndpointOf(running) };
  return (Step: string) => invokeFunction(rotation, { ...event, Step });
}

test('settings that an operator writes during a rotation stay valid; the next rotation encrypts them again', async () => {
  advance(10 * minutes);
  const before = await keyOfSettings();
  const step = stepByStep();
  await step('createSecret');
  await step('setSecret');
  expect(await keyOfSettings()).not.toBe(before);
  const { login_app_id } = await createLoginApp(service, 'Test');
  const flags = { 'login-app': login_app_id, provider: 'provider_e' };
  const settings = await demoSettings(service, 'provider_e');
  await service.setProvider({ login_app_id }, 'provider_e', settings);
  expect(await keyOfSettings(login_app_id)).toBe(before);
  const checked = await service.operate('providers', 'check', flags);
  await step('testSecret');
  await step('finishSecret');
  expect(await service.operate('providers', 'check', flags)).toEqual(checked);
  advance(10 * minutes);
  await rotate();
  expect(await keyOfSettings(login_app_id)).not.toBe(before);
  expect(await service.operate('providers', 'check', flags)).toEqual(checked);
});

test('a rotation that is stuck is given up; the next one works', async () => {
  advance(10 * minutes);
  const step = stepByStep();
  await step('createSecret');
  await step('setSecret');
  advance(10 * minutes);
  await expect(step('finishSecret')).rejects.toThrow('The rotation took too long. Rotate again.');
  await rotate();
  expect((await service.logIn(unique('finn'), 'provider_e')).status).toBe(200);
});

test('a step that Secrets Manager repeats after the rotation has ended changes nothing', async () => {
  advance(10 * minutes);
  const step = stepByStep();
  for (const name of rotationSteps) await step(name);
  const key = await keyOfSettings();
  advance(10 * minutes);
  await step('finishSecret');
  expect(await keyOfSettings()).toBe(key);
  expect((await service.logIn(unique('gina'), 'provider_e')).status).toBe(200);
  await rotate();
});

test('a rotation that meets settings under a key that is gone names them, and is given up; once they are set again, it works', async () => {
  const { login_app_id } = await createLoginApp(service, 'Test', { providers: ['provider_e'] });
  const lose = new UpdateCommand({
    TableName,
    Key: providerSettingsKey(login_app_id, 'provider_e'),
    UpdateExpression: 'SET settings.audience_validation.app_token_secret = :lost',
    ExpressionAttributeValues: { ':lost': 'lostlost.c2VjcmV0' },
  });
  await dynamoDb.send(lose);
  advance(10 * minutes);
  const step = stepByStep();
  await step('createSecret');
  await expect(step('setSecret')).rejects.toThrow(
    `can be decrypted with no key that is left: ${login_app_id} provider_e. Set them`,
  );
  await expect(step('testSecret')).rejects.toThrow('was given up');
  expect((await service.logIn(unique('hugo'), 'provider_e')).status).toBe(200);

  const settings = await demoSettings(service, 'provider_e');
  await service.operate('providers', 'remove', {
    'login-app': login_app_id,
    provider: 'provider_e',
  });
  await service.setProvider({ login_app_id }, 'provider_e', settings);
  await rotate();
  expect((await service.logIn(unique('hugo'), 'provider_e')).status).toBe(200);
});
