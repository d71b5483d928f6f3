import { expect, test } from '@jest/globals';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { watchPublishing } from '../support/watch-publishing.ts';

const own = await sharedServiceWithStore();
const { running, service } = own;
const { demo, operate } = service;
const { bus, during, publishedDuring } = await watchPublishing(own);

const expire = () => service.runSchedule();
const custom = (actor_id: string) => ({ actor_type: 'custom', actor_id });

test.each([
  ['approved', ['approved'], { approvals_needed: 1 }, 1],
  ['rejected', ['approved', 'rejected'], { approvals_needed: 3 }, 1],
  ['expired', [], {}, 0],
])('created with its fields, and once decided: %s', async (decision, reviews, more, approvals) => {
  const expires_at = new Date(Date.now() + 60_000).toISOString();
  const time = decision === 'expired' && { expires_at };
  const fields = { title: 'A title', reference: unique('case'), requested_by: custom('ann') };
  const body = { ...fields, ...more, ...time };
  const { published, result } = await during(() => service.createAccessRequest({ body }));
  const { id } = result.body;
  const { account_id } = demo.account;
  const created = {
    event: 'access_request.created',
    account_id,
    created_at: 'TIME',
    approvals_needed: 1,
  };
  expect(published).toEqual([
    { ...created, ...body, ...(time && { expires_at: 'TIME' }), access_request_id: id },
  ]);
  const decide = async () => {
    for (const [place, status] of reviews.entries())
      await service.addEvent('reviews', { ...custom(`${place}`), status }, { id });
    if (time) {
      running.advance(61);
      await expire();
    }
    expect((await service.accessRequests(`/${id}`)).body.decision).toBe(decision);
    await service.addEvent('reviews', { ...custom('late'), status: 'rejected' }, { id });
    await service.accessRequests(`/${id}`);
  };
  // Those of other tests may expire as well.
  const aboutIt = (await publishedDuring(decide)).filter(
    ({ access_request_id }) => access_request_id === id,
  );
  expect(aboutIt.filter(({ event }) => event !== 'event.added')).toEqual([
    {
      event: 'access_request.decided',
      access_request_id: id,
      decision,
      approvals,
      decided_at: 'TIME',
    },
  ]);
});

test('access_request.created, and event.added once for each comment and review, without its text and author', async () => {
  const { published, result } = await during(() => service.createAccessRequest());
  const { id } = result.body;
  const { account_id } = demo.account;
  expect(published).toEqual([
    { event: 'access_request.created', access_request_id: id, account_id, created_at: 'TIME' },
  ]);
  const content = {
    actor_type: 'custom',
    actor_id: 'anna@example.com',
    comment: 'The secret plan.',
  };
  for (const [path, event] of [
    ['comments', { type: 'comment', event_id: 1 }],
    ['reviews', { type: 'review', status: 'approved', event_id: 2 }],
  ] as const) {
    const add = () => service.addEvent(path, { status: 'approved', ...content }, { id });
    expect(await publishedDuring(add)).toMatchObject([{ event: 'event.added', ...event }]);
    expect(bus.taken.map(({ Detail }) => Detail.status)).toEqual([
      'status' in event ? 'approved' : undefined,
    ]);
    expect(JSON.stringify(bus.requests)).not.toMatch(/anna@example|secret plan/);
  }
});

test('an import publishes the events that are new', async () => {
  const { id } = (await service.createAccessRequest()).body;
  const event = { access_request_id: id, type: 'comment', ...custom('7'), comment: 'x' };
  const events = [{ line: 1, text: JSON.stringify(event), repetition: 0 }];
  const importing = () => publishedDuring(() => operate('events', 'import', { events }));
  expect(await importing()).toMatchObject([
    { event: 'event.added', access_request_id: id, event_id: 1 },
  ]);
  expect(await importing()).toEqual([]);
});
