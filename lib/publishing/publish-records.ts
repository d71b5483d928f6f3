// What happens, as events on the bus: from the records of the table's stream to entries of EventBridge. Nothing else
// reads the stream. It calls EventBridge and SQS.

import { logEvent, logFailure } from '../log/log.ts';
import { putEntries, sendDeadLetter } from './event-bus.ts';
import { type EventEntry, entriesOf, type StreamRecord } from './event-entry.ts';

/** Lambda's answer: it reads the records again from the one with this sequence number on; without one, all are done. */
interface BatchResponse {
  batchItemFailures: { itemIdentifier: string }[];
}

interface Pending {
  record: StreamRecord;
  entry: EventEntry;
}

interface DeadLetter {
  record: StreamRecord;
  error: Error;
  entry?: EventEntry;
}

/** The most entries that EventBridge takes in one request. */
const mostEntries = 10;

/**
 * Publishes what a batch of records from the table's stream means. While the bus is unavailable, Lambda repeats the batch
 * from the first record that is not published, until the record is 23 hours old. A record that can never be published goes
 * into the dead-letter queue at once, so that it does not hold up the others.
 */
export async function publishRecords(records: StreamRecord[]): Promise<BatchResponse> {
  const { pending, deadLetters } = readRecords(records);
  let published = 0;
  let stop: StreamRecord | undefined;
  for (const batch of batchesOf(pending)) {
    const outcomes = await putEntries(batch.map(({ entry }) => entry));
    for (const [place, { record, entry }] of batch.entries()) {
      const outcome = outcomes[place];
      if (outcome?.is === 'published') published += 1;
      else if (outcome?.is === 'rejected') deadLetters.push({ record, entry, error: outcome.error });
      else if (!stop) {
        stop = record;
        logFailure('events_delayed', outcome?.error, {});
      }
    }
    if (stop) break;
  }
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
    } catch (error) {
      deadLetters.push({
        record,
        error: error instanceof Error ? error : new Error('The item cannot be read.'),
      });
    }
  }
  return { pending, deadLetters };
}

/**
 * The requests for some events, in order. No request has two events of the same item: of one request, some entries may
 * fail and later ones succeed.
 */
function batchesOf(pending: Pending[]): Pending[][] {
  const batches: Pending[][] = [];
  let items = new Set<string>();
  for (const one of pending) {
    const item = JSON.stringify(one.record.dynamodb.Keys);
    const last = batches.at(-1);
    if (last && last.length < mostEntries && !items.has(item)) last.push(one);
    else {
      batches.push([one]);
      items = new Set();
    }
    items.add(item);
  }
  return batches;
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
