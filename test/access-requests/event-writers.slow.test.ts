import { describe, expect, test } from '@jest/globals';
import { problemsOfEvents } from '../support/check-events.ts';
import { type Answer, unique } from '../support/service.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { failing, listsLag, type StoreCall } from '../support/store-proxy.ts';

const own = await startServiceWithStore({}, { movableClock: true });

const comment = { actor_type: 'custom', actor_id: 'risk-desk', comment: 'A page is missing.' };
const review = { ...comment, status: 'rejected' };
const newAccessRequest = async (): Promise<number> =>
  (await own.service.createAccessRequest()).body.id;
const problems = (id: number) => problemsOfEvents(own.dynamoDb, own.tableName, id);
const eventsOf = async (id: number) =>
  (await own.service.search('?page_size=100', { id })).body.results;

/**
 * Adds an event as a client does that sends it again when too many others are writing: nothing was
 * written then.
 */
async function addedEvent(
  path: 'comments' | 'reviews',
  event: object,
  id: number,
): Promise<Answer> {
  const answer = await own.service.addEvent(path, event, { id });
  return answer.status === 503 ? addedEvent(path, event, id) : answer;
}

test('fifty writers at once: ids 1 to 50, ordinals without holes, read back item by item', async () => {
  const id = await newAccessRequest();
  const actors = ['1001', '1002', '1003'];
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, number) => {
      const actor_type = number % 2 === 0 ? 'custom' : 'login_user';
      const sent = { ...review, actor_type, actor_id: actors[number % 3], comment: `${number}` };
      return addedEvent(number % 4 === 0 ? 'reviews' : 'comments', sent, id);
    }),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(201));
  expect(await problems(id)).toEqual([]);
  const byId = answers.map(({ body }) => body).toSorted((a, b) => a.id - b.id);
  expect(await eventsOf(id)).toEqual(byId);
  const texts = byId.map(({ comment }) => Number(comment));
  expect(texts.toSorted((a, b) => a - b)).toEqual([...Array(50).keys()]);
});

test('forty writers of 10,000 characters at once read less than 4 MB', async () => {
  const id = await newAccessRequest();
  const long = { ...comment, comment: 'x'.repeat(10_000) };
  own.proxy.forget();
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => addedEvent('comments', long, id)),
  );
  const bytes = own.proxy.calls().reduce((sum, call) => sum + call.bytes, 0);
  expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(201));
  expect(bytes).toBeLessThan(4_000_000);
  expect(await problems(id)).toEqual([]);
});

describe('a writer that dies at any point leaves nothing half-written', () => {
  test.each(['fails before', 'fails after'] as const)(
    'each store call in turn %s',
    async (fault) => {
      const id = await newAccessRequest();
      await own.service.addEvent('comments', comment, { id });
      let written = 1;
      for (let number = 0; ; number += 1) {
        const add = () => own.service.addEvent('reviews', review, { id });
        const { result, happened } = await failing(own.proxy, [number, fault], add);
        const { status } = result;
        expect(status).toBe(happened ? 500 : 201);
        const { length } = await eventsOf(id);
        expect([written, written + 1]).toContain(length);
        if (status === 201) expect(length).toBe(written + 1);
        written = length;
        expect(await problems(id)).toEqual([]);
        if (!happened) break;
      }
      expect(written).toBe(fault === 'fails before' ? 2 : 3);
    },
  );

  test.each(['fails before', 'fails after'] as const)(
    'and with an Idempotency-Key the repeated request writes once, when each store call in turn %s',
    async (fault) => {
      for (let number = 0; ; number += 1) {
        const id = await newAccessRequest();
        const headers = { 'idempotency-key': unique('key') };
        const add = () => own.service.addEvent('reviews', review, { id, headers });
        const { result: first, happened } = await failing(own.proxy, [number, fault], add);
        expect(first.status).toBe(happened ? 500 : 201);
        const second = await add();
        expect(second.status).toBe(201);
        expect(await eventsOf(id)).toEqual([second.body]);
        expect(await problems(id)).toEqual([]);
        if (!happened) break;
      }
    },
  );

  test('a new access request is there whole or not at all, and its key answers one', async () => {
    for (const fault of ['fails before', 'fails after'] as const) {
      for (let number = 0; ; number += 1) {
        const headers = { 'idempotency-key': unique('key') };
        const create = () => own.service.createAccessRequest({ headers });
        const { happened } = await failing(own.proxy, [number, fault], create);
        const second = await create();
        const third = await create();
        expect(third).toMatchObject({ status: 201, text: second.text });
        expect(
          (await own.service.addEvent('comments', comment, { id: second.body.id })).status,
        ).toBe(201);
        if (!happened) break;
      }
    }
  });
});

test('a writer whom others overtake gets the event that one of them wrote under its key', async () => {
  const id = await newAccessRequest();
  const key = { 'idempotency-key': unique('key') };
  const add = (path: 'comments' | 'reviews', headers = {}) =>
    own.service.addEvent(path, path === 'reviews' ? review : comment, { id, headers });
  let isOvertaken = false;
  const hook = async ({ operation }: StoreCall) => {
    if (operation === 'PutItem' && !isOvertaken) {
      isOvertaken = true;
      await add('comments');
      await add('reviews', key);
      await add('comments');
    }
    return undefined;
  };
  const { status, body } = await own.proxy.during(hook, () => add('reviews', key));
  expect({ status, id: body.id }).toEqual({ status: 201, id: 2 });
  expect(await eventsOf(id)).toHaveLength(3);
  expect(await problems(id)).toEqual([]);
});

test('a new access request finds a free id, however far the list of all of them lags behind', async () => {
  const known = await newAccessRequest();
  for (let more = 0; more < 8; more += 1) await newAccessRequest();
  const { status, body } = await own.proxy.during(listsLag, () =>
    own.service.createAccessRequest(),
  );
  expect({ status, id: body.id }).toEqual({ status: 201, id: known + 9 });
});

test('a writer that never gets its turn gives up with 503 within 8 s, and nothing of it is written', async () => {
  const id = await newAccessRequest();
  let rivals = 0;
  own.proxy.hook = async ({ operation, body }) => {
    const { Item } = body as { Item?: { comment?: { S: string } } };
    if (operation !== 'PutItem' || Item?.comment?.S !== comment.comment) return undefined;
    rivals += 1;
    // A third attempt would end too late.
    own.running.advance(2.8);
    await own.service.addEvent('comments', { ...comment, comment: `rival ${rivals}` }, { id });
    return undefined;
  };
  const { status, body } = await own.service.addEvent('comments', comment, { id });
  expect({ status, body }).toMatchObject({
    status: 503,
    body: { error: 'temporarily_unavailable' },
  });
  own.proxy.hook = () => undefined;
  expect(await problems(id)).toEqual([]);
  const { body: found } = await own.service.search('?page_size=1', { id });
  expect(found.total).toBe(rivals);
  expect(rivals).toBeLessThanOrEqual(2);
});
