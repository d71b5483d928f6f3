import { describe, expect, test } from '@jest/globals';
import { problemsOfEvents } from '../support/check-events.ts';
import { writeEvents } from '../support/many-events.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const own = await startServiceWithStore({}, { movableClock: true });
const withEvents = async (count: number): Promise<number> => {
  const { id } = (await own.service.createAccessRequest()).body;
  await writeEvents(own.dynamoDb, own.tableName, id, [1, count], new Map());
  return id;
};
const [small, large] = [await withEvents(50), await withEvents(2_000)];

const searches = [
  ['events', ''],
  ['events', '&actor_type=custom'],
  ['events', '&actor_id=actor-3'],
  ['events', '&actor_type=login_user&actor_id=actor-3'],
  ['reviews', ''],
] as const;
const inBothOrders = searches.flatMap(([path, filter]): [string, string][] => [
  [path, filter],
  [path, `${filter}&order=desc`],
]);

/** A search, its answer and what it cost. */
const measure = async (id: number, path: string, query: string) => {
  // The account has been read too long ago to be cached; from this search on, it is cached for 30
  // seconds.
  own.running.advance(30);
  await own.service.search('?ids=1', { id });
  own.proxy.forget();
  const { status, body } = await own.service.search(query, { id, path });
  expect(status).toBe(200);
  const calls = own.proxy.calls().map(({ operation }) => operation);
  const units = own.proxy.calls().reduce((sum, call) => sum + call.units, 0);
  return { body, calls: calls.toSorted(), units };
};

test('the events that were written directly are as the service writes them', async () => {
  expect(await problemsOfEvents(own.dynamoDb, own.tableName, large)).toEqual([]);
});

describe.each(inBothOrders)('a search of %s with %j', (path, filter) => {
  test('costs the same on every page, of 50 events and of 2,000', async () => {
    const query = (page: number) => `?page_size=3&page=${page}${filter}`;
    const { body, calls, units } = await measure(small, path, query(1));
    expect(calls).toEqual(['GetItem', 'Query', 'Query']);
    // The page's own three items take one unit.
    expect(units).toBeLessThanOrEqual(1 + 2);
    expect(body.count).toBe(3);
    const { total } = (await measure(large, path, query(1))).body;
    expect(total).toBeGreaterThan(100);
    for (const page of [1, Math.ceil(total / 6), Math.floor(total / 3)]) {
      expect(await measure(large, path, query(page))).toMatchObject({
        calls,
        units,
        body: { count: 3 },
      });
    }
  });

  test('reads no item that is not on the page, but for the last of the list', async () => {
    const { body } = await measure(large, path, `?page_size=8&page=3${filter}`);
    const queries = own.proxy.calls().filter(({ operation }) => operation === 'Query');
    expect(queries.some((call) => 'FilterExpression' in call.body)).toBe(false);
    expect(body.count).toBe(8);
  });
});

test('newest first, a page with an event that came meanwhile is the one that its total says', async () => {
  const { body: before } = await own.service.search('?order=desc&page_size=2', { id: small });
  let written = false;
  own.proxy.hook = async ({ operation, body }) => {
    // The query for the last ordinal has a limit; the one for the page follows it.
    if (operation !== 'Query' || 'Limit' in body || written) return undefined;
    written = true;
    await own.service.addEvent(
      'comments',
      { actor_type: 'custom', actor_id: 'x', comment: '' },
      { id: small },
    );
    return undefined;
  };
  const { body } = await own.service.search('?order=desc&page_size=2', { id: small });
  own.proxy.hook = () => undefined;
  expect({ written, body }).toEqual({ written: true, body: before });
});

describe('reviews of one actor', () => {
  const event = { actor_type: 'custom', actor_id: 'busy', comment: 'x'.repeat(1_000) };
  const review = { ...event, status: 'approved' };
  const ofActor = (id: string) => `?actor_type=custom&actor_id=${id}&page_size=1`;

  test('cost what the actor has written, where that is little', async () => {
    const { body: written } = await own.service.addEvent(
      'reviews',
      { ...review, actor_id: 'rare' },
      { id: large },
    );
    const { body, calls, units } = await measure(large, 'reviews', ofActor('rare'));
    expect(body).toMatchObject({ total: 1, results: [written] });
    expect(calls).toEqual(['GetItem', 'Query']);
    expect(units).toBeLessThanOrEqual(2);
  });

  test('cost what the actor has written, where there are more reviews', async () => {
    const all = await measure(large, 'reviews', '?actor_id=actor-3&page_size=100');
    const found = await measure(
      large,
      'reviews',
      '?actor_id=actor-3&actor_type=custom&page_size=100',
    );
    const expected = all.body.results.filter(
      ({ actor_type }: typeof event) => actor_type === 'custom',
    );
    expect(found.body.results).toEqual(expected);
    expect(found.units).toBeLessThan(all.units / 2);
  });

  test('cost what the reviews cost, where the actor has written more', async () => {
    const { id } = (await own.service.createAccessRequest()).body;
    const line = JSON.stringify({ ...event, type: 'comment', access_request_id: id });
    const events = Array.from({ length: 100 }, (_, place) => ({
      line: place + 1,
      text: line,
      repetition: place,
    }));
    await own.service.operate('events', 'import', { events });
    const { body: written } = await own.service.addEvent('reviews', review, { id });
    const { body, units } = await measure(id, 'reviews', ofActor('busy'));
    expect(body).toMatchObject({ total: 1, results: [written] });
    expect(units).toBeLessThanOrEqual(15);
  });
});
