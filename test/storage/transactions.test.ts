import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { startOwnTable, startStore } from '../support/own-table.ts';
import { isWrite, type StoreAnswer, startStoreProxy } from '../support/store-proxy.ts';

await startOwnTable();
const proxy = await startStoreProxy(await startStore());
afterAll(() => proxy.close());
process.env.AWS_ENDPOINT_URL_DYNAMODB = proxy.url;
const { check, put, remove, update, writeTogether } = await import(
  '../../lib/storage/transactions.ts'
);
const { putItem, updateItem, deleteItem } = await import('../../lib/storage/items.ts');
const { store, tableName } = await import('../../lib/storage/client.ts');

type Attributes = Record<string, unknown>;
let tests = 0;
/** A key that only this test uses. */
const keyOf = (name: string) => ({
  pk: `TEST#${tests}`,
  sk: name,
  parse: (item: Attributes) => item,
  written: (_: Attributes) => {},
});
afterEach(() => {
  tests += 1;
});

const whileAbsent = { pk: { exists: false } };
const whilePresent = { pk: { exists: true } };

async function read(name: string): Promise<Attributes | undefined> {
  const { pk, sk } = keyOf(name);
  const input = { TableName: tableName(), Key: { pk, sk }, ConsistentRead: true };
  const { Item } = await store.call('GetItem', input);
  return Item;
}

describe('a transaction', () => {
  test('makes all its writes', async () => {
    await putItem(keyOf('changed'), { count: 1 });
    await putItem(keyOf('gone'), { count: 1 });
    await putItem(keyOf('checked'), { count: 1 });
    const outcome = await writeTogether([
      put(keyOf('new'), { text: 'a', none: undefined }, whileAbsent),
      update(keyOf('changed'), {
        set: { text: 'b' },
        count: { count: { by: 2 } },
        when: { count: { is: 1 } },
      }),
      update(keyOf('made by an update'), { set: { text: 'c' } }),
      remove(keyOf('gone'), { count: { is: 1 } }),
      check(keyOf('checked'), whilePresent),
    ]);
    expect(outcome).toEqual({ done: true });
    expect(await read('new')).toMatchObject({ text: 'a' });
    expect(await read('changed')).toMatchObject({ text: 'b', count: 3 });
    expect(await read('made by an update')).toMatchObject({ text: 'c' });
    expect(await read('gone')).toBeUndefined();
    expect(await read('checked')).toMatchObject({ count: 1 });
  });

  test('makes none when a condition fails, and tells which one and what was found there', async () => {
    await putItem(keyOf('there'), { owner: 'b' });
    const first = put(keyOf('first'), { text: 'a' }, whileAbsent);
    const taken = put(keyOf('there'), { owner: 'a' }, whileAbsent);
    const missing = check(keyOf('missing'), whilePresent);
    const last = update(keyOf('last'), { set: { text: 'a' } });
    const outcome = await writeTogether([first, taken, missing, last]);
    if (outcome.done) throw new Error('It was done.');
    expect([...outcome.refused.keys()]).toEqual([taken, missing]);
    expect(outcome.refused.get(taken)).toMatchObject({ owner: 'b', sk: 'there' });
    expect(outcome.refused.get(missing)).toBeUndefined();
    expect(await read('first')).toBeUndefined();
    expect(await read('there')).toMatchObject({ owner: 'b' });
    expect(await read('last')).toBeUndefined();
  });

  test.each([
    [
      'an update',
      () => update(keyOf('there'), { set: { owner: 'a' }, when: { owner: { is: 'a' } } }),
    ],
    ['a deletion', () => remove(keyOf('there'), { owner: { is: 'a' } })],
    ['a check', () => check(keyOf('there'), { owner: { is: 'a' } })],
  ])('tells what a refused condition of %s found', async (_, write) => {
    await putItem(keyOf('there'), { owner: 'b' });
    const refused = write();
    const outcome = await writeTogether([update(keyOf('other'), { set: { text: 'a' } }), refused]);
    expect(outcome.done || outcome.refused.get(refused)).toMatchObject({ owner: 'b' });
    expect(await read('other')).toBeUndefined();
  });

  test('of two writes of one item is an error, and writes nothing', async () => {
    const twice = [put(keyOf('one'), { text: 'a' }), remove(keyOf('one'))];
    await expect(writeTogether(twice)).rejects.toThrow(/multiple operations on one item/);
    expect(await read('one')).toBeUndefined();
  });

  test('whose update the store refuses writes nothing', async () => {
    await putItem(keyOf('text'), { count: 'no number' });
    const writes = [
      put(keyOf('first'), { text: 'a' }),
      update(keyOf('text'), { count: { count: { by: 1 } } }),
    ];
    await expect(writeTogether(writes)).rejects.toThrow();
    expect(await read('first')).toBeUndefined();
    expect(await read('text')).toMatchObject({ count: 'no number' });
  });

  test('among twenty at once that want one name is made once', async () => {
    const claims = Array.from({ length: 20 }, (_, place) => {
      const name = put(keyOf('name'), { owner: place }, whileAbsent);
      return writeTogether([name, put(keyOf(`owner ${place}`), { owns: 'name' })]);
    });
    const outcomes = await Promise.all(claims);
    expect(outcomes.filter(({ done }) => done)).toHaveLength(1);
    const owners = await Promise.all(outcomes.map((_, place) => read(`owner ${place}`)));
    const winner = outcomes.findIndex(({ done }) => done);
    expect(owners.flatMap((owner, place) => (owner ? [place] : []))).toEqual([winner]);
    expect(await read('name')).toMatchObject({ owner: winner });
  });

  test('beside single writes of its items loses none of them', async () => {
    const add = () => updateItem(keyOf('counter'), { count: { single: { by: 1 } } });
    const addTogether = () =>
      writeTogether([
        update(keyOf('counter'), { count: { together: { by: 1 } } }),
        update(keyOf('other'), { count: { together: { by: 1 } } }),
      ]);
    const writes = Array.from({ length: 10 }, () => [add(), addTogether()]).flat();
    for (const outcome of await Promise.all(writes)) expect(outcome.done).toBe(true);
    expect(await read('counter')).toMatchObject({ single: 10, together: 10 });
    expect(await read('other')).toMatchObject({ together: 10 });
  });

  test('is made once when its answer is lost', async () => {
    await putItem(keyOf('counter'), { count: 0 });
    let isFirst = true;
    const hook = ({ operation }: { operation: string }) => {
      if (operation !== 'TransactWriteItems' || !isFirst) return undefined;
      isFirst = false;
      return 'answer lost' as const;
    };
    const add = update(keyOf('counter'), {
      count: { count: { by: 1 } },
      when: { count: { is: 0 } },
    });
    const outcome = await proxy.during(hook, () =>
      writeTogether([add, put(keyOf('once'), { text: 'a' }, whileAbsent)]),
    );
    expect(outcome).toEqual({ done: true });
    expect(await read('counter')).toMatchObject({ count: 1 });
  });
});

const conflict: StoreAnswer = {
  status: 400,
  body: {
    __type: 'com.amazonaws.dynamodb.v20120810#TransactionConflictException',
    message: 'Transaction is ongoing for the item',
  },
};
const cancelledFor = (...codes: string[]): StoreAnswer => ({
  status: 400,
  body: {
    __type: 'com.amazonaws.dynamodb.v20120810#TransactionCanceledException',
    Message: `Transaction cancelled [${codes.join(', ')}]`,
    CancellationReasons: codes.map((Code) => ({ Code })),
  },
});

describe('a write that meets a transaction', () => {
  /** Answers the first writes so, and counts all. */
  async function meeting(answer: StoreAnswer, times: number, action: () => Promise<unknown>) {
    let writes = 0;
    const result = await proxy.during((call) => {
      if (!isWrite(call)) return undefined;
      writes += 1;
      return writes <= times ? answer : undefined;
    }, action);
    return { result, writes };
  }

  test('is repeated, whatever kind of write it is', async () => {
    const key = keyOf('item');
    expect(await meeting(conflict, 2, () => putItem(key, { a: 1 }, { ifAbsent: true }))).toEqual({
      result: true,
      writes: 3,
    });
    const updated = await meeting(conflict, 2, () => updateItem(key, { set: { a: 2 } }));
    expect(updated).toMatchObject({ result: { done: true, before: { a: 1 } }, writes: 3 });
    expect((await meeting(conflict, 1, () => deleteItem(key))).writes).toBe(2);
    expect(await read('item')).toBeUndefined();
  });

  test.each([
    ['met another', cancelledFor('None', 'TransactionConflict')],
    ['was throttled', cancelledFor('ThrottlingError', 'None')],
    [
      'met another that may change its conditions',
      cancelledFor('ConditionalCheckFailed', 'TransactionConflict'),
    ],
    [
      'is still under way',
      {
        ...conflict,
        body: {
          ...Object(conflict.body),
          __type: 'com.amazonaws.dynamodb.v20120810#TransactionInProgressException',
        },
      },
    ],
  ])('is repeated as a transaction that %s', async (_, answer) => {
    const writes = [put(keyOf('a'), { a: 1 }, whileAbsent), put(keyOf('b'), { b: 1 }, whileAbsent)];
    const { result } = await meeting(answer, 2, () => writeTogether(writes));
    expect(result).toEqual({ done: true });
  });

  test.each([
    ['a write', conflict, () => putItem(keyOf('item'), { a: 1 })],
    [
      'a transaction',
      cancelledFor('TransactionConflict'),
      () => writeTogether([put(keyOf('item'), { a: 1 })]),
    ],
  ])(
    'ends %s with an error to try again when the conflict does not end',
    async (_, answer, write) => {
      await expect(meeting(answer, 100, write)).rejects.toMatchObject({
        code: 'temporarily_unavailable',
        message: 'Too many are writing the same at once. Try again.',
      });
      expect(await read('item')).toBeUndefined();
    },
  );

  test('finds its own write when an answer was lost before', async () => {
    let writes = 0;
    const made = await proxy.during(
      (call) => {
        if (!isWrite(call)) return undefined;
        writes += 1;
        if (writes === 1) return 'answer lost';
        return writes === 2 ? conflict : undefined;
      },
      () => putItem(keyOf('item'), { a: 1 }, { ifAbsent: true }),
    );
    expect(made).toBe(true);
  });
});
