import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { requestTimeouts } from '../foundation/aws-client.ts';
import { environment } from '../foundation/environment.ts';
import { logEvent, logFailure } from '../log/log.ts';
import { type EventEntry, entriesOf, eventSource, type StreamRecord } from './changes.ts';

const busName = environment('EVENT_BUS_NAME');
const queueUrl = environment('DEAD_LETTER_QUEUE_URL');

/** An attempt must end well before the function's timeout of 10 s. */
const options = requestTimeouts(2, 3_000);
const client = new EventBridgeClient(options);
const queue = new SQSClient(options);

/** An event of a record, and its outcome. */
interface Pending {
  record: StreamRecord;
  /** Undefined if the record can't be read. */
  entry?: EventEntry;
  outcome?: 'published' | Error;
}

const mostEntries = 10;

/**
 * Publishes the events of a batch of records. While the bus is unavailable, Lambda repeats the
 * batch from the first record that is not published, for 23 hours. A record that can never be
 * published goes into the dead-letter queue at once.
 * @returns Lambda's answer: the sequence number of the record from which the batch is repeated, if
 *   it is
 */
export async function publishRecords(records: StreamRecord[]) {
  const all = records.flatMap(readRecord);
  const readable = all.filter(({ outcome }) => outcome === undefined);
  for (const round of roundsOf(readable)) {
    const requests = Map.groupBy(round, (_, index) => Math.floor(index / mostEntries));
    await Promise.all([...requests.values()].map(putEntries));
    const delayed = round.find((one) => !isSettled(one));
    if (delayed) {
      logFailure('events_delayed', delayed.outcome, {});
      break;
    }
  }
  const stop = await storeDeadLetters(all);
  const count = all.filter(({ outcome }) => outcome === 'published').length;
  if (count > 0) logEvent('events_published', { count });
  return { batchItemFailures: stop ? [{ itemIdentifier: stop.dynamodb.SequenceNumber }] : [] };
}

function readRecord(record: StreamRecord): Pending[] {
  try {
    return entriesOf(record).map((entry) => ({ record, entry }));
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error('The item cannot be read.');
    return [{ record, outcome: error }];
  }
}

/**
 * The first events of all items, then the second ones, and so on, so that an item's events are
 * published in their order.
 */
function roundsOf(pending: Pending[]): Pending[][] {
  const byItem = Map.groupBy(pending, ({ record }) => JSON.stringify(record.dynamodb.Keys));
  const eventsOfItems = [...byItem.values()];
  const length = Math.max(0, ...eventsOfItems.map((events) => events.length));
  return Array.from({ length }, (_, round) =>
    eventsOfItems.flatMap((events) => events[round] ?? []),
  );
}

const entryErrors = [
  'InvalidArgument',
  'MalformedDetail',
  'RedactionFailure',
  'ValidationException',
];

/**
 * Whether the bus would reject the entry again.
 * @see Amazon EventBridge API reference, "PutEventsResultEntry": ErrorCode
 */
const isUndeliverable = ({ entry, outcome }: Pending): boolean =>
  outcome instanceof Error && (!entry || entryErrors.includes(outcome.name));

const isSettled = (one: Pending): boolean => one.outcome === 'published' || isUndeliverable(one);

/**
 * Sends the dead letters of the records that are not repeated, in order.
 * @returns the first record to repeat
 */
async function storeDeadLetters(all: Pending[]): Promise<StreamRecord | undefined> {
  const stop = all.find((one) => !isSettled(one))?.record;
  for (const one of all) {
    if (one.record === stop) return stop;
    if (!isUndeliverable(one)) continue;
    try {
      await sendDeadLetter(one);
      logFailure('event_undeliverable', one.outcome, { record_id: one.record.eventID });
    } catch (failed) {
      logFailure('events_delayed', failed, {});
      return one.record;
    }
  }
  return undefined;
}

/**
 * Puts up to ten entries on the bus, and each rejected one again by itself: the bus may have
 * rejected it because of another one.
 */
async function putEntries(pending: Pending[]): Promise<void> {
  await send(pending);
  if (pending.length === 1) return;
  const rejected = pending.filter(isUndeliverable);
  for (const one of rejected) await send([one]);
}

async function send(pending: Pending[]): Promise<void> {
  const entries = pending.flatMap(({ entry }) => (entry ? requestEntry(entry) : []));
  try {
    const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: entries }));
    for (const [index, one] of pending.entries()) {
      const { EventId, ErrorCode: name = 'NoAnswer' } = Entries[index] ?? {};
      const rejection = Object.assign(new Error('The bus did not take the entry.'), { name });
      one.outcome = EventId ? 'published' : rejection;
    }
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error('The request to the bus failed.');
    for (const one of pending) one.outcome = error;
  }
}

/** An entry has a few kilobytes at most, so ten are far below the limit of 256 KB. */
const requestEntry = ({ type, occurredAt, detail }: EventEntry) => ({
  EventBusName: busName(),
  Source: eventSource,
  DetailType: type,
  Time: occurredAt,
  Detail: JSON.stringify(detail),
});

/**
 * Sends the key of a record's item, the reason and the event. Not the item: it may hold a push
 * token or a comment.
 */
async function sendDeadLetter({ record, outcome, entry }: Pending): Promise<void> {
  const { eventID, eventName, dynamodb } = record;
  const letter = {
    record_id: eventID,
    change: eventName,
    sequence_number: dynamodb.SequenceNumber,
    key: { pk: dynamodb.Keys.pk?.S, sk: dynamodb.Keys.sk?.S },
    reason: outcome instanceof Error ? outcome.name : undefined,
    ...(entry && { type: entry.type, detail: entry.detail }),
  };
  await queue.send(
    new SendMessageCommand({ QueueUrl: queueUrl(), MessageBody: JSON.stringify(letter) }),
  );
}
