import { describe, expect, test } from '@jest/globals';
import { removeItem } from '../support/items-about.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { costOf as measure } from '../support/store-proxy.ts';

const own = await sharedServiceWithStore();
const { service, proxy } = own;
const { demo } = service;
const stranger = { account: demo.other_account };

/** An access request of somebody else with many long comments. */
const unknown = 999_999_999;

const foreign = (await service.createAccessRequest()).body.id;
const comment = { actor_type: 'custom', actor_id: 'a', comment: 'x'.repeat(10_000) };
for (let number = 1; number <= 10; number += 1) {
  expect((await service.addEvent('comments', comment, { id: foreign })).status).toBe(201);
}
await service.search('', stranger);

const costOf = (send: () => Promise<{ status: number; text: string }>) => measure(proxy, send);

const event = { actor_type: 'custom', actor_id: unique('a'), comment: 'x', status: 'approved' };

/**
 * Existence and size of a foreign access request must not be told by an answer, its time or its
 * cost.
 */
describe('an account that has no access learns nothing of an access request', () => {
  test.each<[string, (id: number) => Promise<{ status: number; text: string }>]>([
    ['a search', (id) => service.search('', { ...stranger, id })],
    ['a search of a full page', (id) => service.search('?page_size=100', { ...stranger, id })],
    ['a search by ids', (id) => service.search('?ids=1,2,3,4,5', { ...stranger, id })],
    [
      'a search by an actor',
      (id) => service.search('?actor_type=custom&actor_id=a', { ...stranger, id }),
    ],
    [
      'a search of reviews by an actor',
      (id) => service.search('?actor_id=a', { ...stranger, id, path: 'reviews' }),
    ],
    ['the access request itself', (id) => service.accessRequests(`/${id}`, demo.other_account)],
    ['a comment', (id) => service.addEvent('comments', event, { ...stranger, id })],
    ['a review', (id) => service.addEvent('reviews', event, { ...stranger, id })],
    [
      'a comment with an Idempotency-Key',
      (id) =>
        service.addEvent('comments', event, {
          ...stranger,
          id,
          headers: { 'idempotency-key': 'k' },
        }),
    ],
  ])('[finding] %s: one read of nothing, as for one that does not exist', async (_, send) => {
    const cost = await costOf(() => send(foreign));
    expect(cost.status).toBe(403);
    expect(cost.calls).toEqual([
      { operation: 'GetItem', units: expect.any(Number), bytes: expect.any(Number) },
    ]);
    expect(cost).toEqual(await costOf(() => send(unknown)));
  });
});

describe('an account that has no access gets none by another way', () => {
  test.each([
    (id: number) => `${id}%00`,
    (id: number) => `0${id}`,
    (id: number) => `+${id}`,
    (id: number) => `${id}.0`,
    (id: number) => `${id}e0`,
    (id: number) => `0x${id.toString(16)}`,
    (id: number) => `${id},1`,
    (id: number) => `${id}%23EVENT`,
    (id: number) => `%2e%2e%2f${id}`,
    (id: number) => `${id}%2f..%2f${id}`,
    (id: number) => `${id};account=x`,
    (id: number) =>
      String(id).replaceAll(/\d/g, (digit) =>
        encodeURIComponent(String.fromCodePoint(0x660 + Number(digit))),
      ),
  ])('[OWASP API1 2023] an id spelt in another way: %s', async (spelt) => {
    for (const path of ['events', 'reviews'])
      expect([400, 403, 404]).toContain(
        (await service.search('', { ...stranger, id: spelt(foreign), path })).status,
      );
  });

  test('[OWASP API1 2023] ids of events that are those of another access request', async () => {
    const own = (await service.createAccessRequest(stranger)).body.id;
    const { body } = await service.search('?ids=1,2,3,4,5', { ...stranger, id: own });
    expect([body.total, body.results]).toEqual([0, []]);
  });

  test('[OWASP API3 2023] fields of a body that belong to the service', async () => {
    const own = (await service.createAccessRequest(stranger)).body.id;
    const more = {
      id: 99,
      access_request_id: foreign,
      type: 'review',
      created_at: '2000-01-01T00:00:00Z',
      pk: 'x',
    };
    const { body } = await service.addEvent(
      'comments',
      { ...event, ...more },
      { ...stranger, id: own },
    );
    expect(body).toMatchObject({ id: 1, access_request_id: own, type: 'comment' });
    expect(body.created_at).not.toBe(more.created_at);
    expect((await service.search('', { id: foreign })).body.total).toBe(10);
  });

  test('[OWASP API3 2023] a new access request that says its decision, id or owner', async () => {
    const reference = unique('case');
    const decided = { decision: 'approved', approvers: ['x'], decided_at: '2000-01-01T00:00:00Z' };
    const owned = { id: foreign, access_request_id: foreign, account_id: demo.account.account_id };
    const body = { reference, approvals_needed: 1, ...decided, ...owned, is_decided: false };
    const { id } = (await service.createAccessRequest({ ...stranger, body })).body;
    const { body: shown } = await service.accessRequests(`/${id}`, demo.other_account);
    expect(shown).toMatchObject({ id, decision: 'pending', approvals: 0 });
    expect((await service.accessRequests(`?reference=${reference}`)).body.results).toEqual([]);
  });

  test('[OWASP API1 2023] lists that still name an access request whose access is gone', async () => {
    const title = unique('secret');
    const { id } = (await service.createAccessRequest({ ...stranger, body: { title } })).body;
    // A version that knows no lists has revoked it.
    const { account_id } = demo.other_account;
    await removeItem(own, { pk: `ACCESS_REQUEST#${id}`, sk: `ACCOUNT#${account_id}` });
    const { text } = await service.accessRequests('?page_size=100', demo.other_account);
    expect(text).not.toContain(title);
  });

  test('[OWASP API5 2023] methods that no endpoint has', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']) {
      const { status } = await service.call(`/v1/rbac/access_requests/${foreign}/events`, {
        method,
      });
      expect(status).toBe(404);
    }
  });

  test('[CWE-204] an unknown account and a wrong secret are answered alike', async () => {
    const account_secret = 'acs_wrong';
    const search = (account_id: string) =>
      service.search('', { account: { account_id, account_secret } });
    const [unknown, wrong] = [
      await search(`ac_${'A'.repeat(22)}`),
      await search(demo.account.account_id),
    ];
    expect([unknown.status, unknown.text]).toEqual([wrong.status, wrong.text]);
  });
});
