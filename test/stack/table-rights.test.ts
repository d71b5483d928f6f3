import { expect, test } from '@jest/globals';
import { gateway } from '../../infra/local/gateway.ts';
import { serve } from '../../infra/local/loopback-server.ts';
import type { Access } from '../../lib/http/endpoint.ts';
import { documentedFetch } from '../support/loaded-once.ts';
import { startOwnTable } from '../support/own-table.ts';

const { tableName: TableName } = await startOwnTable();
const { store } = await import('../../lib/storage/client.ts');
const { withTableRights } = await import('../../infra/local/enforce-table-rights.ts');

/** A record that reads devices and lists, and writes nothing. */
const access: Access = {
  table: { devices: ['GetItem', 'BatchGetItem', 'Query'], signing_keys: ['Query'] },
  secrets: [],
};
const asFunction = <Result>(run: () => Promise<Result>) =>
  withTableRights('read-devices', access, run);

const device = { pk: 'DEVICE#d_1', sk: 'DEVICE' };
const account = { pk: 'ACCOUNT#ac_1', sk: 'ACCOUNT' };
const get = (Key: typeof device) => store.call('GetItem', { TableName, Key });
const batch = (...Keys: (typeof device)[]) =>
  store.call('BatchGetItem', { RequestItems: { [TableName]: { Keys } } });
const query = (pk: string, name = ':pk') =>
  store.call('Query', {
    TableName,
    KeyConditionExpression: `pk = ${name}`,
    ExpressionAttributeValues: { [name]: pk },
  });
const queryIndex = (IndexName: string, pk: string, attribute = 'list') =>
  store.call('Query', {
    TableName,
    IndexName,
    KeyConditionExpression: '#key = :pk',
    ExpressionAttributeNames: { '#key': attribute },
    ExpressionAttributeValues: { ':pk': pk },
  });

test('a function does what its record lists', async () => {
  await asFunction(() => store.call('GetItem', { TableName, Key: device }));
  await asFunction(() => batch(device));
  await asFunction(() => queryIndex('by_list', 'DEVICES_OF#lu_1'));
  await asFunction(() => query('SIGNING_KEYS'));
});

test.each<[string, () => Promise<unknown>, string]>([
  [
    'an action that its record lacks',
    () => store.call('PutItem', { TableName, Item: device }),
    'PutItem DEVICE#d_1',
  ],
  [
    'another one',
    () => store.call('DeleteItem', { TableName, Key: device }),
    'DeleteItem DEVICE#d_1',
  ],
  ['an item of another kind', () => get(account), 'GetItem ACCOUNT#ac_1'],
  [
    'a write of a transaction',
    () =>
      store.call('TransactWriteItems', {
        TransactItems: [{ Put: { TableName, Item: device } }],
      }),
    'PutItem DEVICE#d_1',
  ],
  [
    'a check of a transaction',
    () =>
      store.call('TransactWriteItems', {
        TransactItems: [
          {
            ConditionCheck: { TableName, Key: device, ConditionExpression: 'attribute_exists(pk)' },
          },
        ],
      }),
    'ConditionCheckItem DEVICE#d_1',
  ],
  [
    'one such item among others',
    () => batch(device, account),
    'BatchGetItem DEVICE#d_1,ACCOUNT#ac_1',
  ],
  ['a list of another kind', () => query('ACCOUNTS'), 'Query ACCOUNTS'],
  [
    'an item whose key is that of a list',
    () => get({ pk: 'DEVICES_OF#lu_1', sk: 'DEVICE' }),
    'GetItem DEVICES_OF#lu_1',
  ],
  [
    'an index that none of its kinds of items is in',
    () => queryIndex('by_review', 'DEVICE#d_1', 'pk'),
    'Query DEVICE#d_1 in by_review',
  ],
  [
    'what only begins like the one key that it may read',
    () => query('SIGNING_KEYS_OF#la_1'),
    'Query SIGNING_KEYS_OF#la_1',
  ],
])('%s: an error that names the function, the action and the key', async (_, run, denied) => {
  await expect(asFunction(run)).rejects.toThrow(
    `The record of read-devices does not let it ${denied}.`,
  );
});

test('an endpoint whose record lacks a right answers with a 500 that names it, which fails any test that calls it', async () => {
  const handler = () =>
    asFunction(async () => {
      const answer = await get(account).catch(() => ({ statusCode: 500, headers: {} }));
      return { statusCode: 200, headers: {}, ...answer };
    });
  const endpoint = { route: 'GET /openapi.json' } as const;
  const { url, close } = await serve(gateway([{ endpoint, handler }]));
  const denied = 'The record of read-devices does not let it GetItem ACCOUNT#ac_1.';
  await expect(documentedFetch(`${url}/openapi.json`)).rejects.toThrow(denied);
  await close();
});

test('a call whose key is not recognised is an error, even for an item that the function may read', async () => {
  const run = () => query('DEVICES_OF#lu_1', ':list');
  await expect(asFunction(run)).rejects.toThrow(
    'The keys that read-devices wants to Query are not recognised.',
  );
});

test('outside of a function nothing is limited', async () => {
  await get(account);
  await query('ACCOUNTS', ':list');
});
