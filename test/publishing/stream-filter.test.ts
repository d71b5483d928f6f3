import { describe, expect, test } from '@jest/globals';
import { matches, passesFilter } from '../../infra/local/filter-stream.ts';
import { entriesOf } from '../../lib/publishing/changes.ts';
import { publishedKinds } from '../../lib/publishing/projections.ts';
import { type Item, recordOf } from '../support/stream-records.ts';

const at = '2026-01-31T08:00:00.000Z';
const later = '2026-01-31T09:00:00.000Z';
const timeToLive = { userIdentity: { principalId: 'dynamodb.amazonaws.com' } };

/** All items with some of the attributes, each with one of its values. */
function variants(common: Item, attributes: Record<string, unknown[]>): Item[] {
  let all = [common];
  for (const [name, values] of Object.entries(attributes))
    all = all.flatMap((item) => [item, ...values.map((value) => ({ ...item, [name]: value }))]);
  return all;
}

/** The forms that an item of each kind may have. */
const forms: Record<string, Item[]> = {
  SESSION: variants(
    {
      pk: 'LOGIN_USER#lu_1',
      sk: 'SESSION#001',
      login_user_id: 'lu_1',
      login_app_id: 'la_1',
      client_id: 'c_1',
      created_at: at,
      started_at: 1_769_800_000,
      ordinal: 0,
      expires_at: 1_769_900_000,
      generation: 0,
      session_id: 's_1',
    },
    { ended_at: [later], end_reason: ['hook'] },
  ).flatMap((item) => [
    item,
    { ...item, generation: 7 },
    { ...item, session_id: 's_2', generation: 0 },
  ]),
  DEVICE: variants(
    {
      pk: 'DEVICE#d_1',
      sk: 'DEVICE',
      device_id: 'd_1',
      login_app_id: 'la_1',
      platform: 'ios',
      created_at: at,
      last_seen_at: later,
      related_at: later,
    },
    { login_user_id: ['lu_1', 'lu_2'], login_user_since: [at, later], disabled_at: [at] },
  ),
  ACCESS_REQUEST: variants(
    {
      pk: 'ACCESS_REQUEST#42',
      sk: 'ACCESS_REQUEST',
      access_request_id: 42,
      account_id: 'ac_1',
      created_at: at,
    },
    { decision: ['approved'], approvers: [['ann']] },
  ).map((item) => (item.decision === undefined ? item : { ...item, decided_at: later })),
};

/** Whether a session has replaced another without being a new one, which the service never does. */
const isImpossible = (before?: Item, after?: Item): boolean =>
  before !== undefined &&
  after !== undefined &&
  before.session_id !== after.session_id &&
  after.generation !== 0;

describe('whatever is published passes the filter of the stream', () => {
  test('each kind of which a part is published has its forms here', () => {
    const partly = Object.entries(publishedKinds).filter(([, { changes }]) => changes);
    expect(partly.map(([kind]) => kind)).toEqual(Object.keys(forms));
  });

  test.each(Object.keys(forms))('%s: every change from one form to another', (kind) => {
    const items = [undefined, ...(forms[kind] ?? [])];
    const changes = items.flatMap((before) => items.map((after) => [before, after] as const));
    const possible = changes.filter(
      ([before, after]) => (before ?? after) && !isImpossible(before, after),
    );
    const records = possible.flatMap(([before, after]) => [
      recordOf(before, after),
      ...(after ? [] : [recordOf(before, after, timeToLive)]),
    ]);
    const published = records.filter((record) => entriesOf(record).length > 0);
    expect(published.length).toBeGreaterThan(0);
    expect(published.filter((record) => !passesFilter(record))).toEqual([]);
  });
});

test('a pattern with an operator that nobody has checked is an error', () => {
  expect(() => matches({ a: [{ 'anything-but': ['b'] }] }, { a: 'b' })).toThrow(/anything-but/);
});
