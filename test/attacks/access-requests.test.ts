import { beforeAll, describe, expect, test } from '@jest/globals';
import { unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const { service, proxy } = await startServiceWithStore();
const { demo } = service;
const stranger = { account: demo.other_account };

/** An access request of somebody else with many long comments. */
let foreign: number;
const unknown = 999_999_999;

beforeAll(async () => {
  foreign = (await service.createAccessRequest()).body.id;
  const comment = { actor_type: 'custom', actor_id: 'a', comment: 'x'.repeat(10_000) };
  await Promise.all(Array.from({ length: 10 }, () => service.addEvent('comments', comment, { id: foreign })));
  await service.search('', stranger);
});

/** What a request costs: each call to the store, and the bytes of its answer. */
async function costOf(send: () => Promise<{ status: number; text: string }>) {
  proxy.forget();
  const { status, text } = await send();
  return {
    status,
    text,
    calls: proxy.calls().map(({ operation, units, bytes }) => ({ operation, units, bytes })),
  };
}

const event = { actor_type: 'custom', actor_id: unique('a'), comment: 'x', status: 'approved' };

/** Existence and size of a foreign access request must not be told by an answer, its time or its cost. */
describe('an account that has no access learns nothing of an access request', () => {
  test.each<[string, (id: number) => Promise<{ status: number; text: string }>]>([
    ['a search', (id) => service.search('', { ...stranger, id })],
    ['a search of a full page', (id) => service.search('?page_size=100', { ...stranger, id })],
    ['a search by ids', (id) => service.search('?ids=1,2,3,4,5', { ...stranger, id })],
    ['a search by an actor', (id) => service.search('?actor_type=custom&actor_id=a', { ...stranger, id })],
    [
      'a search of reviews by an actor',
      (id) => service.search('?actor_id=a', { ...stranger, id, path: 'reviews' }),
    ],
    ['a comment', (id) => service.addEvent('comments', event, { ...stranger, id })],
    ['a review', (id) => service.addEvent('reviews', event, { ...stranger, id })],
    [
      'a comment with an Idempotency-Key',
      (id) => service.addEvent('comments', event, { ...stranger, id, headers: { 'idempotency-key': 'k' } }),
    ],
  ])('%s: one read of nothing, as for one that does not exist', async (_, send) => {
    const cost = await costOf(() => send(foreign));
    expect(cost.status).toBe(403);
    expect(cost.calls).toEqual([
      { operation: 'GetItem', units: expect.any(Number), bytes: expect.any(Number) },
    ]);
    expect(cost).toEqual(await costOf(() => send(unknown)));
  });
});
