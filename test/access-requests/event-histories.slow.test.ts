import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sharedService } from '../support/service.ts';

const service = sharedService();

interface Event {
  id: number;
  type: string;
  actor_type: string;
  actor_id: string;
}

const actorTypes = ['login_user', 'custom'];
/** Some that look like each other's beginning, and like numbers, keys and filters. */
const actorIds =
  '1,01,10,1#0,a,A,custom,custom#a,login_user,login_user#1,EVENT#0000000000000001,é,e\u0301,%20 &=,__proto__'.split(
    ',',
  );

const newEvent = fc.record({
  path: fc.constantFrom('comments' as const, 'reviews' as const),
  actor_type: fc.constantFrom(...actorTypes),
  actor_id: fc.constantFrom(...actorIds),
  comment: fc.string({ unit: 'grapheme', maxLength: 20 }),
  status: fc.constantFrom('approved', 'rejected'),
});
/** One after the other, and now and then some at once. */
const history = fc.array(fc.array(newEvent, { minLength: 1, maxLength: 4 }), { maxLength: 12 });
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const search = fc.record({
  path: fc.constantFrom('events' as const, 'reviews' as const),
  actor_type: optional(fc.constantFrom(...actorTypes)),
  actor_id: optional(fc.constantFrom(...actorIds, 'nobody')),
  ids: fc.option(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 60 }), {
    nil: undefined,
    freq: 2,
  }),
  page: optional(
    fc.oneof(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 1, max: 9_999_999_999_999 })),
  ),
  page_size: optional(fc.oneof(fc.integer({ min: 1, max: 10 }), fc.integer({ min: 1, max: 100 }))),
  order: optional(fc.constantFrom('asc' as const, 'desc' as const)),
});

type Search = typeof search extends fc.Arbitrary<infer One> ? One : never;

/** What a search should find, by looking at every event there is. */
function naiveSearch(
  events: Event[],
  { path, actor_type, actor_id, ids, page = 1, page_size = 8, order = 'asc' }: Search,
) {
  const found = (order === 'asc' ? events : events.toReversed())
    .filter(({ type }) => path === 'events' || type === 'review')
    .filter((event) => actor_type === undefined || event.actor_type === actor_type)
    .filter((event) => actor_id === undefined || event.actor_id === actor_id)
    .filter(({ id }) => ids === undefined || ids.includes(id));
  const offset = (page - 1) * page_size;
  const results = found.slice(offset, offset + page_size);
  return { total: found.length, offset, count: results.length, results };
}

const queryOf = ({ path: _, ids, ...parameters }: Search): string => {
  const given = Object.entries({ ...parameters, ids: ids?.join() }).filter(
    ([, value]) => value !== undefined,
  );
  return `?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`;
};

test('after any history of events, any search finds what a naive model finds', async () => {
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.array(search, { minLength: 20, maxLength: 20 }),
      async (bursts, searches) => {
        const { id } = (await service.createAccessRequest()).body;
        const events: Event[] = [];
        for (const burst of bursts) {
          const answers = await Promise.all(
            burst.map(({ path, ...event }) => service.addEvent(path, event, { id })),
          );
          expect(answers.map(({ status }) => status)).toEqual(burst.map(() => 201));
          events.push(...answers.map(({ body }) => body).toSorted((a, b) => a.id - b.id));
        }
        expect(events.map((event) => event.id)).toEqual(events.map((_, place) => place + 1));
        const answers = await Promise.all(
          searches.map((one) => service.search(queryOf(one), { id, path: one.path })),
        );
        expect(answers.map(({ body }) => body)).toEqual(
          searches.map((one) => naiveSearch(events, one)),
        );
      },
    ),
    { numRuns: 13 },
  );
});
