import * as v from 'valibot';
import { updateItem } from '../storage/items.ts';
import { accessRequestCounterKey, accessRequestsList, ordinalOf } from '../storage/keys.ts';
import { readLastOfGlobalList } from '../storage/lists.ts';

/** The counter as it is stored: the last id that was taken. */
const counterItem = v.object({ last_id: v.number() });
type Counter = v.InferOutput<typeof counterItem>;

/**
 * Takes ids for access requests from the counter: one write, which no other writer makes fail. An id that is taken but not
 * used leaves a gap. A table without a counter gets one, which goes on after the last access request.
 * @param count how many ids
 * @returns the first of them; the others follow it
 */
export async function takeIds(count: number): Promise<number> {
  const first = (await countUp(count)) ?? (await countUp(count, { from: await lastKnownId() }));
  if (first === undefined) throw new Error('The counter of access requests could not be started.');
  return first;
}

/** Lets the counter go on after the last access request. A version of the service that has no counter leaves it behind. */
export async function skipUsedIds(): Promise<void> {
  const last_id = await lastKnownId();
  await updateItem<Counter>(accessRequestCounterKey(), {
    set: { last_id },
    when: { last_id: { isNotFrom: last_id } },
  });
}

/** @param start where a new counter begins; without it, undefined is returned when there is no counter */
async function countUp(by: number, start?: { from: number }): Promise<number | undefined> {
  const outcome = await updateItem<Counter>(accessRequestCounterKey(), {
    count: { last_id: { by, ...start } },
    ...(!start && { when: { last_id: { exists: true } } }),
  });
  if (!outcome.done) return undefined;
  const { before = { last_id: start?.from }, after } = outcome;
  return 1 + (after ? v.parse(counterItem, after).last_id - by : v.parse(counterItem, before).last_id);
}

/** The id of the last access request: a hint, since the index lags behind the table. */
async function lastKnownId(): Promise<number> {
  const position = (await readLastOfGlobalList('by_list', accessRequestsList))?.list_position;
  return typeof position === 'string' ? ordinalOf(position) : 0;
}
