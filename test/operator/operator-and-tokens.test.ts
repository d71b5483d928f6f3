import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { createLoginApp } from '../support/login-app.ts';
import { newPhone } from '../support/people.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { login_app, other_login_app } = service.demo;

const device = () => ({ platform: 'android', token: unique('phone') });
/** A new long-lived Login App Token. */
const create = async ({ login_app_id } = login_app): Promise<string> => {
  const flags = { 'login-app': login_app_id, name: 'iOS app' };
  return String((await service.operate('login-apps', 'tokens create', flags)).login_app_token);
};

describe('a long-lived Login App Token', () => {
  test('is listed without its secret until it is revoked', async () => {
    const app = await createLoginApp(service, unique('one-token'));
    const flags = { 'login-app': app.login_app_id };
    const { token_id } = await service.operate('login-apps', 'tokens create', {
      ...flags,
      name: 'Android app',
    });
    const list = async () => (await service.operate('login-apps', 'tokens list', flags)).tokens;
    expect(await list()).toContainEqual({
      token_id,
      name: 'Android app',
      created_at: expect.any(String),
    });
    await service.operate('login-apps', 'tokens revoke', { ...flags, token: token_id });
    expect(await list()).not.toContainEqual(expect.objectContaining({ token_id }));
    await expect(
      service.operate('login-apps', 'tokens revoke', { ...flags, token: token_id }),
    ).rejects.toThrow('The Login App has no such token; it has none.');
  });

  test('with another secret, another id or another Login App in it: 401', async () => {
    const [[app, id, secret], [otherApp, otherId, otherSecret]] = [
      (await create()).split('.'),
      (await create(other_login_app)).split('.'),
    ];
    const forged = [
      [app, id, otherSecret],
      [app, otherId, secret],
      [otherApp, id, secret],
      [app, otherId, otherSecret],
    ];
    for (const parts of forged) {
      const { status, body } = await service.register(device(), parts.join('.'));
      expect([status, body.error]).toEqual([401, 'invalid_token']);
    }
  });
});

test('login-users logout ends all sessions of a person at once; a new login works', async () => {
  const subject = unique('alice');
  const tokens = [
    (await service.logIn(subject)).body,
    (await service.logIn(subject)).body,
  ] as const;
  const id = await newPhone(service);
  const flags = { 'login-user': decodeJwt(tokens[0].access_token).sub };
  const works = async () => [
    (await service.relate(id, tokens[0].access_token)).status,
    (await service.relate(id, tokens[1].access_token)).status,
  ];
  expect(await works()).toEqual([200, 200]);
  expect(await service.operate('login-users', 'logout', flags)).toMatchObject({
    sessions_ended: 2,
  });
  expect(await works()).toEqual([401, 401]);
  for (const { refresh_token } of tokens)
    expect((await service.refresh(refresh_token)).body.error).toBe('invalid_grant');
  expect((await service.logIn(subject)).status).toBe(200);
});

describe('a long-lived Login App Token at the endpoints for tokens', () => {
  test('is active for its Login App alone', async () => {
    const token = await create();
    expect((await service.introspect(token)).body).toMatchObject({
      active: true,
      token_use: 'login_app',
    });
    expect((await service.introspect(token, other_login_app)).body).toEqual({ active: false });
  });

  test('cannot be revoked by a client: 400', async () => {
    const token = await create();
    const own = await service.revoke(token);
    expect([own.status, own.body.error]).toEqual([400, 'unsupported_token_type']);
    const others = await service.revoke(token, other_login_app);
    expect([others.status, others.body.error]).toEqual([400, 'invalid_request']);
    expect((await service.register(device(), token)).status).toBe(201);
  });
});
