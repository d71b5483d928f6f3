import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { afterEach, describe, expect, test } from '@jest/globals';
import { expectAnswer, timestamp } from '../support/expectations.ts';
import { itemsAbout, removeItem } from '../support/items-about.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import type { StoreCall } from '../support/store-proxy.ts';

const own = await sharedServiceWithStore();
const { running, service, proxy, dynamoDb, tableName } = own;
const { account, other_account } = service.demo;
afterEach(() => running.resetClock());
const day = 24 * 3600;

const create = (options: Parameters<typeof service.createAccessRequest>[0] = {}) =>
  service.createAccessRequest(options);
const withKey = () => ({ headers: { 'idempotency-key': unique('key') } });
const operations = () => proxy.calls().map(({ operation }) => operation);

/**
 * How many access requests the table holds; each of them is listed, and published when it is
 * written.
 */
const accessRequestCount = async (): Promise<number> =>
  (await itemsAbout(own, '"sk":"ACCESS_REQUEST"')).length;

describe('POST /v1/rbac/access_requests', () => {
  test('201 with the access request: it has no events, and the account has access, no other', async () => {
    const answer = await create();
    const undecided = { decision: 'none', approvals: 0, last_event_id: 0 };
    expectAnswer(answer, 201, { id: expect.any(Number), created_at: timestamp, ...undecided });
    const { id } = answer.body;
    expectAnswer(await service.search('', { id }), 200, {
      total: 0,
      offset: 0,
      count: 0,
      results: [],
    });
    expect((await service.search('', { id, account: other_account })).status).toBe(403);
  });

  test('100 at once: each has an id of its own, after 2 calls to the store each', async () => {
    await create();
    proxy.forget();
    const answers = await Promise.all(Array.from({ length: 100 }, () => create()));
    expect(answers.map(({ status }) => status)).toEqual(Array(100).fill(201));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(100);
    expect(proxy.calls().length / 100).toBeLessThanOrEqual(2.5);
  });
});

describe('POST /v1/rbac/access_requests with an Idempotency-Key', () => {
  test('five at once make one access request, which all of them answer', async () => {
    const before = await accessRequestCount();
    const options = withKey();
    const answers = await Promise.all(Array.from({ length: 5 }, () => create(options)));
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(201));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await accessRequestCount()).toBe(before + 1);
    expect((await service.search('', { id: answers[0]?.body.id })).status).toBe(200);
  });

  test('it costs 3 calls to the store, and 2 when it comes again', async () => {
    await create();
    const options = withKey();
    proxy.forget();
    await create(options);
    expect(operations()).toEqual(['GetItem', 'UpdateItem', 'TransactWriteItems']);
    proxy.forget();
    await create(options);
    expect(operations()).toEqual(['GetItem', 'BatchGetItem']);
  });

  test('it counts for 24 hours, and is new after that; the same of an event', async () => {
    const options = withKey();
    const { id } = (await create(options)).body;
    const comment = { actor_type: 'custom', actor_id: '7', comment: '' };
    const add = async (text = '') =>
      (await service.addEvent('comments', { ...comment, comment: text }, { id, ...options })).body
        .id;
    expect(await add()).toBe(1);
    running.advance(day - 60);
    expect([(await create(options)).body.id, await add()]).toEqual([id, 1]);
    running.advance(61);
    expect([await add('another'), await add('another'), await add()]).toEqual([2, 2, undefined]);
    const second = (await create(options)).body.id;
    expect(second).not.toBe(id);
    expect((await create(options)).body.id).toBe(second);
  });

  test('one that has expired and that the table removes meanwhile makes one access request, and no more', async () => {
    const options = withKey();
    const { id } = (await create(options)).body;
    running.advance(day + 1);
    const isKey = ({ sk }: Record<string, unknown>) => String(sk).startsWith('NEW_ACCESS_REQUEST#');
    const [key] = (await itemsAbout(own, `"id":${id},`)).filter(isKey);
    const remove = async ({ operation }: StoreCall) => {
      if (operation === 'TransactWriteItems' && key)
        await removeItem(own, { pk: String(key.pk), sk: String(key.sk) });
      return undefined;
    };
    expect(key).toBeDefined();
    expect((await proxy.during(remove, () => create(options))).body.id).toBe(id + 1);
    expect((await create(options)).body.id).toBe(id + 1);
    expect((await create()).body.id).toBe(id + 2);
  });

  test('one that comes again does not give back an access that the operator has revoked', async () => {
    const options = withKey();
    const { id } = (await create(options)).body;
    await service.operate('access-requests', 'revoke', {
      'access-request': id,
      account: account.account_id,
    });
    expect((await create(options)).body.id).toBe(id);
    expect((await service.search('', { id })).status).toBe(403);
  });
});

test('an id that belongs to another access request is given to nobody else, if the counter has gone back', async () => {
  const { id } = (await create({ account: other_account })).body;
  const Item = marshall({ pk: 'ACCESS_REQUESTS', sk: 'COUNTER', last_id: id - 1 });
  for (const options of [{}, withKey()]) {
    await dynamoDb.send(new PutItemCommand({ TableName: tableName, Item }));
    expect((await create(options)).status).toBe(500);
  }
  expect((await service.search('', { id })).status).toBe(403);
  expect((await service.search('', { id, account: other_account })).status).toBe(200);
});
