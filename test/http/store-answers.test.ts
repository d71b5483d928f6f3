import type { RequestListener } from 'node:http';
import { marshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { createLoginApp } from '../support/login-app.ts';
import { newPhone } from '../support/people.ts';
import { type Scene, startProviderStandIn } from '../support/provider-stand-in.ts';
import { prepareLogin, targets } from '../support/provider-targets.ts';
import { type Answer, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import type { StoreAnswer, StoreCall } from '../support/store-proxy.ts';
import { hexToken } from '../support/tokens.ts';

/** Answers that DynamoDB gives and the store of these tests does not. */
const { running, service, proxy } = await sharedServiceWithStore();

/** The first call of an operation is answered so; every other one reaches the store. */
function answerOnce(
  operation: string,
  answer: (body: Record<string, unknown>) => StoreAnswer,
): void {
  let answered = false;
  proxy.hook = (call) => {
    if (answered || call.operation !== operation) return undefined;
    answered = true;
    return answer(call.body);
  };
  proxy.forget();
}

const operations = (): string[] => proxy.calls().map(({ operation }) => operation);

const exception = (name: string, more: object = {}, status = 400): StoreAnswer => ({
  status,
  body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'So it is.', ...more },
});

const unprocessed = ({ RequestItems }: Record<string, unknown>): StoreAnswer => ({
  status: 200,
  body: { Responses: {}, UnprocessedKeys: RequestItems },
});

async function newDevice(): Promise<string> {
  const device = { platform: 'ios', token: hexToken() };
  return (await service.register(device, await service.loginAppToken())).body.id;
}

describe('a batch read that the store leaves unprocessed is asked for again', () => {
  test('relate', async () => {
    const id = await newDevice();
    const { access_token } = (await service.logIn(unique('alice'))).body;
    answerOnce('BatchGetItem', unprocessed);
    expectAnswer(await service.relate(id, access_token), 200, { id });
    expect(operations()).toEqual(['BatchGetItem', 'BatchGetItem', 'UpdateItem', 'Query']);
  });

  test('search by ids', async () => {
    const whole = (await service.search('?ids=1,2,3')).body;
    answerOnce('BatchGetItem', unprocessed);
    expectAnswer(await service.search('?ids=1,2,3'), 200, whole);
    expect(whole.count).toBe(3);
  });

  test('but not for ever: 500 after the sixth time', async () => {
    proxy.hook = ({ operation, body }) =>
      operation === 'BatchGetItem' ? unprocessed(body) : undefined;
    proxy.forget();
    expect((await service.search('?ids=1,2,3')).status).toBe(500);
    expect(operations().filter((operation) => operation === 'BatchGetItem')).toHaveLength(6);
  });
});

test('a query that the store answers in parts is read to its end', async () => {
  const whole = (await service.search('?page_size=3')).body;
  const LastEvaluatedKey = {
    pk: { S: `ACCESS_REQUEST#${service.demo.access_request_id}` },
    sk: { S: 'EVENT#0000000000000001' },
  };
  const first = { ...marshall(whole.results[0]), ...LastEvaluatedKey };
  proxy.hook = ({ operation, body }) =>
    operation === 'Query' && !body.Limit && !body.ExclusiveStartKey
      ? { status: 200, body: { Items: [first], Count: 1, ScannedCount: 1, LastEvaluatedKey } }
      : undefined;
  expectAnswer(await service.search('?page_size=3'), 200, whole);
  expect(whole.count).toBe(3);
});

describe('an index that is just being written shows an item twice; it is listed once', () => {
  /** Every query of an index finds these items. */
  const showInIndex = (...Items: Record<string, unknown>[]): void => {
    proxy.hook = ({ operation, body }) =>
      operation === 'Query' && /^by_(list|shard)$/.test(String(body.IndexName))
        ? { status: 200, body: { Items: Items.map((item) => marshall(item)), Count: Items.length } }
        : undefined;
  };
  const inIndex = (id: string) => ({ pk: `DEVICE#${id}`, sk: 'DEVICE', device_id: id });

  test('the devices of a person', async () => {
    const id = await newDevice();
    const { access_token } = (await service.logIn(unique('alice'))).body;
    await service.relate(id, access_token);
    showInIndex(inIndex(id), inIndex(id));
    expect((await service.listDevices(access_token)).body).toMatchObject({ devices: [{ id }] });
  });

  test('the devices of a shard', async () => {
    const id = await newDevice();
    showInIndex(inIndex(id), inIndex(id));
    expect((await service.recipients('shard=0')).body).toMatchObject({
      recipients: [{ device_id: id }],
    });
  });

  test('an operator’s list, without those that are gone', async () => {
    const { account_id } = await service.operate('accounts', 'create', { name: 'Test' });
    const inList = (id: unknown) => ({ pk: `ACCOUNT#${id}`, sk: 'ACCOUNT' });
    showInIndex(inList(account_id), inList(`ac_${'A'.repeat(22)}`), inList(account_id));
    expect(await service.operate('accounts', 'list', {})).toMatchObject({
      accounts: [{ account_id }],
    });
  });
});

describe('relate: a failed condition that carries the item needs no further read', () => {
  const item = {
    pk: 'DEVICE#d',
    sk: 'DEVICE',
    device_id: 'd',
    platform: 'ios',
    login_app_id: 'la_another',
    token: 'x',
    created_at: 'x',
    last_seen_at: 'x',
    expires_at: 9_999_999_999,
  };

  test.each([
    ['403 of another Login App', {}, { status: 403, error: 'forbidden' }],
    [
      '422 disabled',
      { login_app_id: service.demo.login_app.login_app_id, disabled_at: 'x' },
      { status: 422, error: 'unprocessable_entity', fields: ['device_id'] },
    ],
  ])('%s', async (_, found, error) => {
    const id = await newDevice();
    const { access_token } = (await service.logIn(unique('alice'))).body;
    const Item = marshall({ ...item, ...found });
    answerOnce('UpdateItem', () => exception('ConditionalCheckFailedException', { Item }));
    expectError(await service.relate(id, access_token), error);
    expect(operations()).toEqual(['BatchGetItem', 'UpdateItem']);
  });
});

test('a partition that is full: 409 that says what to do, and a reason in the log for the alarm', async () => {
  const full = exception('ItemCollectionSizeLimitExceededException');
  const comment = { actor_type: 'custom', actor_id: '7', comment: 'x' };
  const answer = await proxy.during(
    ({ operation }) => (operation === 'PutItem' ? full : undefined),
    () => service.addEvent('comments', comment),
  );
  expectError(answer, { status: 409, error: 'conflict', naming: /full.*Create another one/ });
  expect(running.output()).toContain('"reason":"access_request_full"');
});

describe('a transaction that the store cancels', () => {
  const review = { actor_type: 'custom', actor_id: '7', status: 'approved' };
  const cancelled = (Code: string) =>
    exception('TransactionCanceledException', {
      CancellationReasons: [{ Code: 'None' }, { Code }],
    });
  const during = (answer: StoreAnswer, action: () => Promise<Answer>) =>
    proxy.during(
      ({ operation }) => (operation === 'TransactWriteItems' ? answer : undefined),
      action,
    );
  const newPending = async () =>
    (await service.createAccessRequest({ body: { approvals_needed: 1 } })).body.id;

  test('since a partition is full: 409 that says what to do', async () => {
    const id = await newPending();
    const full = cancelled('ItemCollectionSizeLimitExceeded');
    const reviewed = await during(full, () => service.addEvent('reviews', review, { id }));
    expectError(reviewed, { status: 409, error: 'conflict', naming: /full.*Create another one/ });
    const created = await during(full, () => service.createAccessRequest());
    expectError(created, {
      status: 409,
      error: 'conflict',
      naming: /takes no more access requests/,
    });
  });

  test('since others keep changing the same: 503 for a review, and nothing is written', async () => {
    const id = await newPending();
    const busy = cancelled('TransactionConflict');
    const answer = await during(busy, () => service.addEvent('reviews', review, { id }));
    expectError(answer, { status: 503, error: 'temporarily_unavailable' });
    const { body } = await service.accessRequests(`/${id}`);
    expect(body).toMatchObject({ decision: 'pending', last_event_id: 0 });
  });
});

test.each([
  ['ProvisionedThroughputExceededException', 400],
  ['ThrottlingException', 400],
  ['InternalServerError', 500],
])('a store that is busy for a moment (%s) is asked again', async (name, status) => {
  const token = await service.loginAppToken();
  await newDevice(); // It leaves nothing to be read for the next one.
  answerOnce('UpdateItem', () => exception(name, {}, status));
  const answer = await service.register({ platform: 'ios', token: hexToken() }, token);
  expectAnswer(answer, 201, { id: expect.stringMatching(/^d_/) });
  expect(operations()).toEqual(['UpdateItem', 'UpdateItem']);
});

const standIn = await startProviderStandIn();

/** 500 with nothing but the request id. */
function expectUnknownError(answer: Answer): void {
  const requestId = answer.headers.get('x-request-id') ?? 'none';
  const naming = `Something failed on our side. Please quote the request id ${requestId}.`;
  expectError(answer, { status: 500, error: 'internal_server_error', naming });
}

describe('500 unknown error when the store fails, and the next time it works', () => {
  const requests: Record<string, () => Promise<() => Promise<Answer>>> = {
    'a login': async () => {
      const subject = unique('alice');
      return () => service.logIn(subject, 'provider_d');
    },
    'a new client': async () => {
      const app = await createLoginApp(service, unique('app'));
      return () => service.token({ grant_type: 'client_credentials' }, app);
    },
    register: async () => {
      const token = await service.loginAppToken();
      const device = { platform: 'ios', token: hexToken() };
      return () => service.register(device, token);
    },
    relate: async () => {
      const token = (await service.logIn(unique('alice'), 'provider_d')).body.access_token;
      const id = await newPhone(service);
      return () => service.relate(id, token);
    },
    'a search': async () => () => service.search(),
    'a search of reviews': async () => () => service.search('', { path: 'reviews' }),
  };
  test.each([
    ['a login', 'UpdateItem'],
    ['a login', 'PutItem'],
    ['a new client', 'GetItem'],
    ['register', 'UpdateItem'],
    ['relate', 'BatchGetItem'],
    ['relate', 'UpdateItem'],
    ['a search', 'GetItem'],
    ['a search', 'Query'],
    ['a search of reviews', 'Query'],
  ])('%s, at %s', async (name, failing) => {
    const send = await requests[name]?.();
    if (!send) throw new Error(`There is no request ${name}.`);
    const fail = ({ operation }: StoreCall) => (operation === failing ? 'fails before' : undefined);
    expectUnknownError(await proxy.during(fail, send));
    expect((await send()).status).toBeLessThan(300);
  });
});

describe('500 unknown error, when the identity provider fails', () => {
  const logInWhen = async (misbehave: (scene: Scene) => void, base?: string) => {
    const scene = standIn.openScene();
    const { app, form } = await prepareLogin(service, scene, targets.tokenInfo, base);
    misbehave(scene);
    return service.token(form, app);
  };

  const unreachable = {
    status: 500,
    error: 'internal_server_error',
    naming: 'The identity provider could not be reached; try again.',
  };

  test('it refuses the connection: the answer says so', async () => {
    expectError(await logInWhen(() => undefined, 'http://127.0.0.1:1'), unreachable);
  });

  test('it hangs up: the answer says so', async () => {
    const hangUp: RequestListener = ({ socket }) => void socket.destroy();
    expectError(await logInWhen((scene) => scene.misbehave('token_info', hangUp)), unreachable);
  });

  test('it answers with something else: the settings may be wrong, so the log has to say more', async () => {
    expectUnknownError(
      await logInWhen((scene) => scene.answer('token_info', { status: 200, body: {} })),
    );
  });
});
