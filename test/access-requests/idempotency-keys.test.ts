import { afterAll, expect, test } from '@jest/globals';
import { startOwnTable } from '../support/own-table.ts';
import { stopClock } from '../support/standing-clock.ts';

const table = await startOwnTable();
afterAll(() => table.stop());
const domain = {
  ...(await import('../../lib/access-requests/access-request.ts')),
  ...(await import('../../lib/access-requests/append-events.ts')),
  ...(await import('../../lib/access-requests/create-access-request.ts')),
};

const day = 24 * 60 * 60 * 1000;
const pass = stopClock();

const comment = { type: 'comment', actor_type: 'custom', actor_id: '7', comment: '' } as const;

test('an Idempotency-Key of an event counts for 24 hours, and is new after that', async () => {
  const { access_request_id } = await domain.createAccessRequest('ac_1');
  const add = async (text = '') =>
    (await domain.addEventFor('ac_1', access_request_id, { ...comment, comment: text }, 'key')).id;
  expect(await add()).toBe(1);
  pass(day);
  expect(await add()).toBe(1);
  pass(1);
  expect(await add('another')).toBe(2);
  expect(await add('another')).toBe(2);
  await expect(add()).rejects.toThrow('The Idempotency-Key was used for another request');
});

test('an Idempotency-Key of an access request counts for 24 hours, and is new after that', async () => {
  const create = async () => (await domain.createAccessRequestFor('ac_1', 'key')).id;
  const first = await create();
  pass(day);
  expect(await create()).toBe(first);
  pass(1);
  const second = await create();
  expect(second).not.toBe(first);
  expect(await create()).toBe(second);
});
