// What happens, as events on the bus: from the records of the table's stream to entries of EventBridge. Nothing else
// reads the stream. It calls EventBridge and SQS.

import { logEvent, logFailure } from '../log/log.ts';
import { type EventEntry, entriesOf, type StreamRecord } from './changes.ts';
import { type Outcome, putEntries, sendDeadLetter } from './event-bus.ts';

interface Pending {
  record: StreamRecord;
  entry: EventEntry;
}

interface DeadLetter {
  record: StreamRecord;
  error: Error;
  entry?: EventEntry;
}

const mostEntries = 10;

/**
 * Publishes what a batch of records from the table's stream means. While the bus is unavailable, Lambda repeats the batch
 * from the first record that is not published, for 23 hours. A record that can never be published goes into the dead-letter
 * queue at once, so that it does not hold up the others.
 * @returns Lambda's answer, with the sequence number from which on it reads the records again; without one, all are done
 */
export async function publishRecords(records: StreamRecord[]) {
  const { pending, deadLetters } = readRecords(records);
  let published = 0;
  let failure: Error | undefined;
  const unpublished = new Set(pending);
  for (const round of roundsOf(pending)) {
    const outcomes = (await Promise.all(requestsOf(round))).flat();
    for (const [place, one] of round.entries()) {
      const outcome = outcomes[place];
      if (!outcome) continue;
      if (outcome.is === 'unavailable') {
        failure ??= outcome.error;
        continue;
      }
      unpublished.delete(one);
      if (outcome.is === 'published') published += 1;
      else deadLetters.push({ ...one, error: outcome.error });
    }
    if (failure) break;
  }
  if (failure) logFailure('events_delayed', failure, {});
  let stop = pending.find((one) => unpublished.has(one))?.record;
  // The letters of the record where the batch is repeated, and of those behind it, come again.
  const done = records.slice(0, stop ? records.indexOf(stop) : records.length);
  stop = (await storeDeadLetters(done, deadLetters)) ?? stop;
  if (published > 0) logEvent('events_published', { count: published });
  return { batchItemFailures: stop ? [{ itemIdentifier: stop.dynamodb.SequenceNumber }] : [] };
}

function readRecords(records: StreamRecord[]): { pending: Pending[]; deadLetters: DeadLetter[] } {
  const pending: Pending[] = [];
  const deadLetters: DeadLetter[] = [];
  for (const record of records) {
    try {
      pending.push(...entriesOf(record).map((entry) => ({ record, entry })));
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown : new Error('The item cannot be read.');
      deadLetters.push({ record, error });
    }
  }
  return { pending, deadLetters };
}

/**
 * The first event of every item, then the second of every item that has one, and so on. A round begins when the one before
 * it has been published whole, so that no item gets ahead of itself.
 */
function roundsOf(pending: Pending[]): Pending[][] {
  const ofItems = Map.groupBy(pending, ({ record }) => JSON.stringify(record.dynamodb.Keys));
  const rounds: Pending[][] = [];
  for (const ofItem of ofItems.values())
    for (const [round, one] of ofItem.entries()) {
      rounds[round] ??= [];
      rounds[round].push(one);
    }
  return rounds;
}

function requestsOf(round: Pending[]): Promise<Outcome[]>[] {
  const entries = round.map(({ entry }) => entry);
  const requests: Promise<Outcome[]>[] = [];
  for (let at = 0; at < entries.length; at += mostEntries)
    requests.push(putEntries(entries.slice(at, at + mostEntries)));
  return requests;
}

/** Sends the dead letters of some records, in their order. Returns the first record whose letter could not be sent. */
async function storeDeadLetters(
  records: StreamRecord[],
  deadLetters: DeadLetter[],
): Promise<StreamRecord | undefined> {
  const letters = Map.groupBy(deadLetters, ({ record }) => record);
  for (const { record, error, entry } of records.flatMap((one) => letters.get(one) ?? [])) {
    try {
      await sendDeadLetter(record, error, entry);
      logFailure('event_undeliverable', error, { record_id: record.eventID });
    } catch (failed) {
      logFailure('events_delayed', failed, {});
      return record;
    }
  }
  return undefined;
}
