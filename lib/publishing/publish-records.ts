// What happens, as events on the bus: from the records of the table's stream to entries of EventBridge. Nothing else
// reads the stream. It calls EventBridge and SQS.

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
 * Publishes the events of a batch of records. While the bus is unavailable, Lambda repeats the batch from the first record that
 * is not published, for 23 hours. A record that can never be published goes into the dead-letter queue at once.
 * @returns Lambda's answer: the sequence number of the record from which the batch is repeated, if it is
 */
export async function publishRecords(records: StreamRecord[]) {
  const { pending, deadLetters } = readRecords(records);
  let published = 0;
  let failure: Error | undefined;
  const unpublished = new Set(pending);
  for (const round of roundsOf(pending)) {
    const requests = Map.groupBy(round, (_, place) => Math.floor(place / mostEntries));
    const errors = (await Promise.all([...requests.values()].map(putEntries))).flat();
    for (const [place, one] of round.entries()) {
      const error = errors[place];
      if (error && !isOfEntry(error)) {
        failure ??= error;
        continue;
      }
      unpublished.delete(one);
      if (error) deadLetters.push({ ...one, error });
      else published += 1;
    }
    if (failure) break;
  }
  if (failure) logFailure('events_delayed', failure, {});
  let stop = pending.find((one) => unpublished.has(one))?.record;
  // The dead letters of records that are repeated come again.
  const done = records.slice(0, stop ? records.indexOf(stop) : records.length);
  stop = (await storeDeadLetters(done, deadLetters)) ?? stop;
  if (published > 0) logEvent('events_published', { count: published });
  return { batchItemFailures: stop ? [{ itemIdentifier: stop.dynamodb.SequenceNumber }] : [] };
}

function readRecords(records: StreamRecord[]) {
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

/** The first events of all items, then the second ones, and so on, so that an item's events are published in their order. */
function roundsOf(pending: Pending[]): Pending[][] {
  const ofItems = [...Map.groupBy(pending, ({ record }) => JSON.stringify(record.dynamodb.Keys)).values()];
  const length = Math.max(0, ...ofItems.map((ofItem) => ofItem.length));
  return Array.from({ length }, (_, round) => ofItems.flatMap((ofItem) => ofItem[round] ?? []));
}

/** Sends the dead letters of some records in order. @returns the first record whose letter could not be sent */
async function storeDeadLetters(records: StreamRecord[], deadLetters: DeadLetter[]) {
  const letters = Map.groupBy(deadLetters, ({ record }) => record);
  for (const letter of records.flatMap((one) => letters.get(one) ?? [])) {
    try {
      await sendDeadLetter(letter);
      logFailure('event_undeliverable', letter.error, { record_id: letter.record.eventID });
    } catch (failed) {
      logFailure('events_delayed', failed, {});
      return letter.record;
    }
  }
  return undefined;
}

const entryErrors = ['InvalidArgument', 'MalformedDetail', 'RedactionFailure', 'ValidationException'];

/** Whether the bus would reject the entry again. @see Amazon EventBridge API reference, "PutEventsResultEntry": ErrorCode */
const isOfEntry = ({ name }: Error): boolean => entryErrors.includes(name);

/** Puts up to ten entries on the bus, and each rejected one again by itself. @returns the error of each, or undefined */
async function putEntries(pending: Pending[]): Promise<(Error | undefined)[]> {
  const entries = pending.map(({ entry }) => entry);
  const errors = await send(entries);
  if (entries.length === 1) return errors;
  const settled: (Error | undefined)[] = [];
  for (const [place, error] of errors.entries()) {
    const isRejected = error && isOfEntry(error);
    settled.push(...(isRejected ? await send(entries.slice(place, place + 1)) : [error]));
  }
  return settled;
}

async function send(entries: EventEntry[]): Promise<(Error | undefined)[]> {
  try {
    const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: entries.map(requestEntry) }));
    return entries.map((_, place) => {
      const { EventId, ErrorCode: name = 'NoAnswer' } = Entries[place] ?? {};
      return EventId ? undefined : Object.assign(new Error('The bus did not take the entry.'), { name });
    });
  } catch (error) {
    const failed = error instanceof Error ? error : new Error('The request to the bus failed.');
    return entries.map(() => failed);
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

/** Sends the key of a record's item, the reason and the event. Not the item: it may hold a push token or a comment. */
async function sendDeadLetter({ record, error, entry }: DeadLetter): Promise<void> {
  const { eventID, eventName, dynamodb } = record;
  const letter = {
    record_id: eventID,
    change: eventName,
    sequence_number: dynamodb.SequenceNumber,
    key: { pk: dynamodb.Keys.pk?.S, sk: dynamodb.Keys.sk?.S },
    reason: error.name,
    ...(entry && { type: entry.type, detail: entry.detail }),
  };
  await queue.send(new SendMessageCommand({ QueueUrl: queueUrl(), MessageBody: JSON.stringify(letter) }));
}
