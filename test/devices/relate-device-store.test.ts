import { DeleteItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { localDynamoDb } from '../../infra/local/dynamodb.ts';
import { sessionKey } from '../../lib/storage/keys.ts';
import { expectAnswer, expectError } from '../support/expectations.ts';
import type { LoginApp } from '../support/login-app.ts';
import { ownService } from '../support/own-service.ts';
import { newPhone } from '../support/people.ts';
import { unique } from '../support/service.ts';

/** What no client and no operator command brings about: items that are gone, or that another part has changed. */
const { running, service } = await ownService();
const store = localDynamoDb(running.demo.dynamodb_endpoint);
afterAll(() => store.destroy());

const key = (pk: string, sk: string) => ({
  TableName: running.demo.table_name,
  Key: { pk: { S: pk }, sk: { S: sk } },
});

const sessionItemKey = (loginUserId: string, sessionId: string) => {
  const { pk, sk } = sessionKey(loginUserId, sessionId);
  return key(pk, sk);
};

const userToken = async (): Promise<string> => (await service.logIn(unique('alice'))).body.access_token;

describe('POST /v2/marketing/login/user/push_notifications/devices', () => {
  test('404 user not found', async () => {
    const [token, id] = [await userToken(), await newPhone(service)];
    const { sub } = decodeJwt(token);
    await store.send(new DeleteItemCommand(key(`LOGIN_USER#${sub}`, 'LOGIN_USER')));
    const answer = await service.relate(id, token);
    expectError(answer, { status: 404, error: 'not_found', naming: /Login User/ });
  });

  test('404 device not found, when it is gone', async () => {
    const id = await newPhone(service);
    await store.send(new DeleteItemCommand(key(`DEVICE#${id}`, 'DEVICE')));
    const answer = await service.relate(id, await userToken());
    expectError(answer, { status: 404, error: 'not_found', naming: /device/ });
  });

  test('401 the session has ended', async () => {
    const [token, id] = [await userToken(), await newPhone(service)];
    const { sub, sid } = decodeJwt<{ sub: string; sid: string }>(token);
    await store.send(new DeleteItemCommand(sessionItemKey(sub, sid)));
    const answer = await service.relate(id, token);
    expectError(answer, { status: 401, error: 'invalid_token', naming: /session.*ended/ });
  });

  test('401 the session has expired, though the table has it still', async () => {
    const [token, id] = [await userToken(), await newPhone(service)];
    const { sub, sid } = decodeJwt<{ sub: string; sid: string }>(token);
    await store.send(
      new UpdateItemCommand({
        ...sessionItemKey(sub, sid),
        UpdateExpression: 'SET expires_at = :now',
        ExpressionAttributeValues: { ':now': { N: String(Math.floor(Date.now() / 1000)) } },
      }),
    );
    const answer = await service.relate(id, token);
    expectError(answer, { status: 401, error: 'invalid_token', naming: /session.*ended/ });
  });
});

test('a device that has expired is gone, though the table has it still', async () => {
  const [token, phone] = [await userToken(), { platform: 'android', token: unique('push-token') }];
  const appToken = await service.loginAppToken();
  const { id } = (await service.register(phone, appToken)).body;
  expectAnswer(await service.relate(id, token), 200, { id });
  const expire = () =>
    store.send(
      new UpdateItemCommand({
        ...key(`DEVICE#${id}`, 'DEVICE'),
        UpdateExpression: 'SET expires_at = :now',
        ExpressionAttributeValues: { ':now': { N: String(Math.floor(Date.now() / 1000)) } },
      }),
    );
  const recipients = async () => (await service.recipients(`login_user_id=${decodeJwt(token).sub}`)).body;

  await expire();
  expectAnswer(await service.listDevices(token), 200, { devices: [] });
  expect(await recipients()).toEqual({ recipients: [] });
  await expect(service.operate('devices', 'show', { device: id })).rejects.toThrow(
    'There is no such device.',
  );
  await expect(service.operate('devices', 'disable', { device: id })).rejects.toThrow(
    'There is no such device.',
  );
  const again = await service.relate(id, token);
  expectError(again, { status: 404, error: 'not_found', naming: /device/ });

  // One that registers again is a new one, and nobody's.
  expectAnswer(await service.register(phone, appToken), 201, { id });
  expect(await recipients()).toEqual({ recipients: [] });
  expectAnswer(await service.relate(id, token), 200, { id });
  expect(await recipients()).toMatchObject({ recipients: [{ device_id: id }] });
});

test('a token whose session is no longer stored ends its relations, if its own Login App revokes it', async () => {
  const { access_token, refresh_token } = (await service.logIn(unique('alice'))).body;
  const id = await newPhone(service);
  expectAnswer(await service.relate(id, access_token), 200, { id });
  const { sub, sid } = decodeJwt<{ sub: string; sid: string }>(access_token);
  await store.send(new DeleteItemCommand(sessionItemKey(sub, sid)));
  const recipientsAfterRevoking = async (client: LoginApp) => {
    expectAnswer(await service.revoke(refresh_token, client), 200, {});
    return (await service.operate('devices', 'list', { 'login-user': sub })).devices;
  };
  const { login_app, other_login_app } = running.demo;
  expect(await recipientsAfterRevoking(other_login_app)).toMatchObject([{ device_id: id }]);
  expect(await recipientsAfterRevoking(login_app)).toEqual([]);
});
