import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { readFunctions } from '../../infra/endpoints.ts';
import { isAudited } from '../../lib/http/endpoint.ts';
import { newClientKey, secretlessClients } from '../support/client-assertions.ts';
import { eventOf, filledIn, requestOf } from '../support/event-files.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { auditDuring, type LogLine } from '../support/log-lines.ts';
import { createAccount } from '../support/login-app.ts';
import { eventuallyHas, newPerson, newPhone, type Person } from '../support/people.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { newRealValues } from '../support/real-values.ts';
import { type Answer, now, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { isWrite, type StoreCall } from '../support/store-proxy.ts';

const started = await startServiceWithStore({ LOG_LEVEL: 'ERROR' }, { movableClock: true });
const { running, service, proxy } = started;
afterEach(() => running.resetClock());
const standIn = await startProviderStandIn();
const { demo } = service;
const { client_id, login_app_id } = demo.login_app;
const { account_id } = demo.account;
const reader = await createAccount(service, { access: 'read' });

const endpoints = [...readFunctions().endpoints];
const audited = endpoints.filter(([, endpoint]) => isAudited(endpoint));

let person: Person;
let phone: string;
let access_request_id: number;
let values: Record<string, string>;
/** Makes new ones; most commands of operators need none. */
async function prepare(): Promise<void> {
  ({ person, phone, accessRequestId: access_request_id, values } = await newRealValues(service));
}

const linesOf = (action: () => Promise<unknown>) => auditDuring(running, action);

/** The one line of a request; its request id is that of the answer. */
async function lineOf(request: () => Promise<Answer>): Promise<Partial<LogLine>> {
  let answer: Answer | undefined;
  const lines = await linesOf(async () => {
    answer = await request();
  });
  expect(lines).toHaveLength(1);
  const [{ request_id, ...line } = {}] = lines;
  expect(request_id).toBe(answer?.headers.get('x-request-id'));
  expect(line.status).toBe(answer?.status);
  return line;
}

/**
 * The request of an endpoint's event file, with credentials that are right unless others are given.
 */
function example(key: string, replaced: Record<string, string> = {}) {
  const { path, init } = requestOf(filledIn(eventOf(key), { ...values, ...replaced }));
  return () => service.call(path, init);
}

describe('every endpoint that writes: one line, with who, what and the result', () => {
  beforeEach(prepare);

  const byAccount = () => ({ caller: 'account', account_id });
  const byClient = () => ({ caller: 'login_app_client', client_id, login_app_id });
  const byPerson = () => ({
    caller: 'login_user_token',
    client_id,
    login_app_id,
    login_user_id: person.loginUserId,
  });
  const session = {
    login_user_id: expect.stringMatching(/^lu_/),
    session_id: expect.stringMatching(/^s_/),
  };
  const identity_id = expect.stringMatching(/^i_/);
  /** What the line of each endpoint's example says. */
  const rows: Record<string, () => object> = {
    'add-comment': () => ({
      status: 201,
      ...byAccount(),
      access_request_id,
      event_id: expect.any(Number),
    }),
    'add-review': () => ({
      status: 201,
      ...byAccount(),
      access_request_id,
      event_id: expect.any(Number),
    }),
    'create-access-request': () => ({
      status: 201,
      ...byAccount(),
      access_request_id: expect.any(Number),
    }),
    'register-device': () => ({
      status: expect.any(Number),
      caller: 'login_app_token',
      client_id,
      login_app_id,
      device_id: expect.stringMatching(/^d_/),
    }),
    'relate-device': () => ({ status: 200, ...byPerson(), device_id: phone }),
    'end-device-relation': () => ({ status: 204, ...byPerson(), device_id: phone }),
    'delete-login-user': () => ({ status: 204, ...byPerson() }),
    'end-all-sessions': () => ({ status: 204, ...byPerson() }),
    'end-session': () => ({ status: 204, ...byPerson(), session_id: person.sessionId }),
    'link-identity': () => ({ status: 201, ...byPerson(), provider: 'provider_f', identity_id }),
    'merge-login-users': () => ({
      status: 200,
      ...byPerson(),
      provider: 'provider_f',
      merged_from: expect.stringMatching(/^lu_/),
    }),
    'unlink-identity': () => ({ status: 204, ...byPerson(), identity_id }),
    'receive-notification': () => ({
      status: 204,
      caller: 'none',
      login_app_id,
      provider: 'provider_f',
      login_user_id: person.loginUserId,
      outcome: 'sessions_ended',
    }),
    'disable-device': () => ({ status: 204, ...byClient(), device_id: phone }),
    'issue-token': () => ({
      status: 200,
      ...byClient(),
      ...session,
      grant_type: 'provider_credentials',
      provider: 'provider_a',
    }),
    'revoke-token': () => ({ status: 200, ...byClient(), ...session }),
  };

  test.each(audited)('%s', async (key, endpoint) => {
    const row = rows[key];
    if (!row) throw new Error(`${key} has no row in test/log/audit.test.ts: add one to \`rows\`.`);
    const line = await lineOf(example(key));
    expect(line).toEqual({ route: endpoint.route, result: 'done', ...row() });
  });

  test('a client that authenticated by a key: the thumbprint of the key', async () => {
    const { createWithKeys, assertion, send } = secretlessClients(service);
    const keys = [await newClientKey('RS256'), await newClientKey('RS256')];
    const client = await createWithKeys(keys);
    for (const key of keys) {
      const signed = await assertion(client, key);
      const line = await lineOf(() => send(signed));
      expect(line).toMatchObject({
        ...byClient(),
        client_id: client,
        key_thumbprint: key.thumbprint,
      });
    }
    const forged = await assertion(client, await newClientKey('RS256'));
    expect(await linesOf(() => send(forged))).toEqual([]);
  });

  test('what only reads has no line', async () => {
    const others = endpoints.filter(([, endpoint]) => !isAudited(endpoint));
    const requests = others.map(([key]) => example(key));
    expect(
      await linesOf(async () => {
        for (const request of requests) await request();
      }),
    ).toEqual([]);
  });

  test('an endpoint that may write to the table and takes no GET is not excepted', () => {
    const writes = ['PutItem', 'UpdateItem', 'DeleteItem'];
    const excepted = endpoints.filter(([, endpoint]) => endpoint.writes === false);
    // What the authentication writes is left out: an assertion that is used up changes nothing
    // else.
    const actions = excepted.flatMap(([, { table = {} }]) => Object.values(table).flat());
    expect(actions.filter((action) => writes.includes(action))).toEqual([]);
  });
});

describe('a request that is refused before its caller is known', () => {
  beforeAll(prepare);

  const wrong = {
    CLIENT_SECRET: 'wrong',
    ACCOUNT_SECRET: 'wrong',
    LOGIN_APP_TOKEN: 'wrong',
    LOGIN_USER_TOKEN: 'wrong',
  };
  test.each(audited.filter(([, endpoint]) => endpoint.authenticate.scheme !== 'none'))(
    'of %s leaves no line, as anybody can send millions of such requests',
    async (key) => {
      let answer: Answer | undefined;
      const lines = await linesOf(async () => {
        answer = await example(key, wrong)();
      });
      expect([answer?.status, lines]).toEqual([401, []]);
    },
  );

  test('nor does a body that is too large, wherever it is sent', async () => {
    const body = 'x'.repeat(200_000);
    const requests = audited
      .filter(([, endpoint]) => endpoint.body)
      .map(([key]) => requestOf(eventOf(key)));
    const lines = await linesOf(async () => {
      for (const { path, init } of requests) await service.call(path, { ...init, body });
    });
    expect(lines).toEqual([]);
  });
});

describe('what is rejected after authentication has a line as well', () => {
  beforeEach(prepare);

  const comment = { actor_type: 'custom', actor_id: unique('desk'), comment: unique('private') };
  const add = (account = demo.account, event = comment) =>
    service.addEvent('comments', event, { account, id: access_request_id });
  const about = ({ account_id }: typeof demo.account) => ({
    caller: 'account',
    account_id,
    access_request_id,
  });
  const device_id = `d_${'x'.repeat(43)}`;

  test.each<[string, () => Promise<Answer>, () => object]>([
    [
      'an access request of others',
      () => add(demo.other_account),
      () => ({ ...about(demo.other_account), status: 403, error: 'forbidden' }),
    ],
    [
      'an account that may only read',
      () => add(reader),
      () => ({ ...about(reader), status: 403, reason: 'account_read_only' }),
    ],
    [
      'a body whose fields are wrong',
      () => add(demo.account, { ...comment, actor_type: 'nobody' }),
      () => ({ ...about(demo.account), status: 422, error: 'unprocessable_entity' }),
    ],
    [
      'a device that does not exist',
      () => service.relate(device_id, person.token),
      () => ({ login_user_id: person.loginUserId, device_id, error: 'not_found' }),
    ],
  ])('%s', async (_, request, line) => {
    expect(await lineOf(request)).toMatchObject({ result: 'rejected', ...line() });
  });

  test('what is sent in the place of an id is not written down', async () => {
    const line = await lineOf(() => service.relate('a-secret-by-mistake', person.token));
    expect(line).not.toHaveProperty('device_id');
  });

  test('a refresh token that was used, with the session that it ended', async () => {
    const { refreshToken, loginUserId } = person;
    const { refresh } = service;
    const second = (await refresh(refreshToken)).body.refresh_token;
    await refresh(second);
    expect(await lineOf(() => refresh(refreshToken))).toMatchObject({
      result: 'rejected',
      error: 'invalid_grant',
      reason: 'refresh_token_reused',
      login_user_id: loginUserId,
      session_id: expect.stringMatching(/^s_/),
    });
  });
});

describe('a device that changes its place', () => {
  beforeEach(prepare);

  test('a device that moves to another person, with the person whose it was', async () => {
    const other = await newPerson(service);
    await service.relate(phone, person.token);
    expect(await lineOf(() => service.relate(phone, other.token))).toMatchObject({
      login_user_id: other.loginUserId,
      former_login_user_id: person.loginUserId,
      device_id: phone,
      result: 'done',
    });
    expect(await lineOf(() => service.relate(phone, other.token))).not.toHaveProperty(
      'former_login_user_id',
    );
  });

  test('in its installation: the former one, and the people whose they were', async () => {
    const appToken = values.LOGIN_APP_TOKEN ?? '';
    const installation_id = unique('installation');
    const register = (token: string) =>
      service.register({ platform: 'android', token, installation_id }, appToken);
    const token = unique('token');
    const other = await newPerson(service);
    const next = (await service.register({ platform: 'android', token }, appToken)).body.id;
    await service.relate(next, other.token);
    const { id } = (await register(unique('token'))).body;
    await service.relate(id, person.token);
    const about = { caller: 'login_app_token', device_id: next, result: 'done' };
    expect(await lineOf(() => register(token))).toMatchObject({
      ...about,
      former_device_id: id,
      login_user_id: person.loginUserId,
      former_login_user_id: other.loginUserId,
    });
    const again = await lineOf(() => register(token));
    expect(again).toMatchObject(about);
    for (const name of ['former_device_id', 'login_user_id', 'former_login_user_id'])
      expect(again).not.toHaveProperty(name);
  });

  test('among the 20 of a person: the one whose relation ends', async () => {
    const appToken = values.LOGIN_APP_TOKEN;
    for (let related = 1; related < 20; related += 1)
      await service.relate(await newPhone(service, appToken), person.token);
    await eventuallyHas(20, async () => (await service.listDevices(person.token)).body.devices);
    const device_id = await newPhone(service, appToken);
    const line = await lineOf(() => service.relate(device_id, person.token));
    expect(line).toMatchObject({ device_id, evicted_device_ids: [phone] });
  });
});

describe('a notification of a provider: what it did, and to whom', () => {
  test.each<[string, string, number?]>([
    ['sessions_ended', 'consent-revoked'],
    ['deleted', 'account-delete'],
    ['unlinked', 'account-delete'],
    ['outdated', 'account-delete', 60],
    ['nothing', 'email-disabled'],
    ['ignored', 'an-event-of-next-year'],
    ['person_unknown', 'consent-revoked'],
  ])('%s', async (outcome, type, age = 0) => {
    const { app, scene, logIn, notify } = await newIssuerLogin(service, standIn, {
      on_account_deleted: 'delete',
    });
    const { loginUserId, account } = await logIn(
      outcome === 'person_unknown' ? unique('another') : undefined,
    );
    if (outcome === 'unlinked')
      await account.link({
        provider: 'provider_f',
        id_token: await scene.idToken({ sub: unique('other') }),
      });
    const line = await lineOf(() => notify(type, { iat: now() - age }));
    const ofEach = {
      caller: 'none',
      login_app_id: app.login_app_id,
      provider: 'provider_f',
      status: 204,
    };
    const whom = ['ignored', 'person_unknown'].includes(outcome)
      ? {}
      : { login_user_id: loginUserId };
    const route = 'POST /v2/marketing/providers/{provider}/notifications';
    expect(line).toEqual({ ...ofEach, ...whom, route, result: 'done', outcome });
  });
});

const failWrites = (call: StoreCall) => (isWrite(call) ? 'fails before' : undefined);

/** Lets a request die at its third write, when the deletion of a person has begun. */
async function interrupted(request: () => Promise<Answer>): Promise<void> {
  let writes = 0;
  proxy.hook = (call) => (isWrite(call) && ++writes > 2 ? 'fails before' : undefined);
  expect((await request()).status).toBe(500);
  proxy.hook = () => undefined;
}

describe('finish-deletions: a line for each person whose deletion it finishes', () => {
  test.each(['schedule', 'operator'])('by %s', async (by) => {
    const people = [await newPerson(service), await newPerson(service)];
    for (const { account } of people) await interrupted(() => account.remove());
    running.advance(601);
    const byOperator = { caller: 'operator', operator: expect.stringMatching(/^arn:aws:iam::/) };
    const lines = await linesOf(() =>
      by === 'operator'
        ? service.operate('login-users', 'finish-deletions', {})
        : service.runSchedule(),
    );
    const ofEach = {
      request_id: expect.any(String),
      command: 'login-users finish-deletions',
      result: 'done',
      ...(by === 'operator' ? byOperator : { caller: 'schedule' }),
    };
    expect(lines).toEqual([
      ...people.map(({ loginUserId }) => ({ ...ofEach, login_user_id: loginUserId })),
      ...(by === 'operator' ? [ofEach] : []),
    ]);
  });

  test('that fails', async () => {
    const { account, loginUserId: login_user_id } = await newPerson(service);
    await interrupted(() => account.remove());
    running.advance(601);
    const finish = () => service.operate('login-users', 'finish-deletions', {});
    const lines = await linesOf(() => proxy.during(failWrites, finish));
    await finish();
    expect(lines).toMatchObject([{ login_user_id, result: 'failed' }, { result: 'done' }]);
  });

  test('that fails, and does not keep the same function from storing an expiry', async () => {
    const { account, loginUserId: login_user_id } = await newPerson(service);
    await interrupted(() => account.remove());
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const { body: request } = await service.createAccessRequest({ body: { expires_at } });
    running.advance(601);
    const isOfPerson = ({ body }: StoreCall) => JSON.stringify(body).includes(login_user_id);
    const run = () => service.runSchedule();
    const lines = await linesOf(() =>
      proxy.during(
        (call) => (isOfPerson(call) ? failWrites(call) : undefined),
        () => expect(run()).rejects.toThrow('1 could not be finished.'),
      ),
    );
    expect(lines).toMatchObject([{ login_user_id, result: 'failed' }]);
    const { body } = await service.accessRequests('?decision=expired');
    expect(body.results).toContainEqual(expect.objectContaining({ id: request.id }));
    await service.operate('login-users', 'finish-deletions', {});
  });
});

test('a request that fails because the store does: who it was, and that it failed', async () => {
  await prepare();
  proxy.hook = failWrites;
  expect(await lineOf(() => service.relate(phone, person.token))).toEqual({
    route: 'POST /v2/marketing/login/user/push_notifications/devices',
    caller: 'login_user_token',
    client_id,
    login_app_id,
    login_user_id: person.loginUserId,
    device_id: phone,
    result: 'failed',
    status: 500,
    error: 'internal_server_error',
  });
});

test('no line holds what people wrote, who they are at their provider, or a secret', async () => {
  await prepare();
  const said = unique('something-private');
  const desk = unique('risk-desk');
  const subject = unique('erin');
  const lines = await linesOf(async () => {
    const event = { actor_type: 'custom', actor_id: desk, comment: said };
    await service.addEvent('comments', event, { id: access_request_id });
    await newPerson(service, subject);
    await newPhone(service);
    await service.operate('accounts', 'create', { name: said });
    await service.token({}, { ...demo.login_app, client_id: said, client_secret: desk });
  });
  expect(lines.length).toBeGreaterThan(3);
  for (const text of [said, desk, subject]) expect(JSON.stringify(lines)).not.toContain(text);
});
