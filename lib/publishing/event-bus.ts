import {
  EventBridgeClient,
  PutEventsCommand,
  type PutEventsRequestEntry,
  type PutEventsResultEntry,
} from '@aws-sdk/client-eventbridge';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { requestTimeouts } from '../foundation/aws-client.ts';
import { environment } from '../foundation/environment.ts';
import { type EventEntry, eventSource, type StreamRecord } from './changes.ts';

const busName = environment('EVENT_BUS_NAME');
const queueUrl = environment('DEAD_LETTER_QUEUE_URL');

/** An hour without the bus takes many attempts; each must end well before the function's timeout of 10 s. */
const options = requestTimeouts(2, 3_000);
const client = new EventBridgeClient(options);
const queue = new SQSClient(options);

/**
 * How the bus took an entry. `rejected`: the entry itself is wrong and would be rejected again. `unavailable`: the bus,
 * its quotas or our permissions are at fault, so the entry can be published later.
 */
export type Outcome = { is: 'published' } | { is: 'rejected' | 'unavailable'; error: Error };

/**
 * The errors that are about the entry. Any other counts as `unavailable`, so that no event is given up too early.
 * @see Amazon EventBridge API reference, "PutEventsResultEntry": ErrorCode
 */
const entryErrors = ['InvalidArgument', 'MalformedDetail', 'RedactionFailure', 'ValidationException'];

/**
 * Puts up to ten entries on the bus. An entry that is rejected in the company of others is sent once more by itself, since
 * one that is wrong can make a whole request fail.
 */
export async function putEntries(entries: EventEntry[]): Promise<Outcome[]> {
  const outcomes = await send(entries);
  if (entries.length === 1) return outcomes;
  const settled: Outcome[] = [];
  for (const [place, outcome] of outcomes.entries()) {
    const [alone = outcome] =
      outcome.is === 'rejected' ? await send(entries.slice(place, place + 1)) : [outcome];
    settled.push(alone);
  }
  return settled;
}

async function send(entries: EventEntry[]): Promise<Outcome[]> {
  try {
    const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: entries.map(requestEntry) }));
    return entries.map((_, place) => outcomeOf(Entries[place]));
  } catch (error) {
    const failed = failure(error instanceof Error ? error : new Error('The request to the bus failed.'));
    return entries.map(() => failed);
  }
}

/** A few kilobytes at most, since ids and names have a limited length; ten of them are far below the limit of 256 KB. */
const requestEntry = ({ type, occurredAt, detail }: EventEntry): PutEventsRequestEntry => ({
  EventBusName: busName(),
  Source: eventSource,
  DetailType: type,
  Time: occurredAt,
  Detail: JSON.stringify(detail),
});

function outcomeOf(result: PutEventsResultEntry | undefined): Outcome {
  if (result?.EventId) return { is: 'published' };
  const error = new Error('The bus did not take the entry.');
  error.name = result?.ErrorCode ?? 'NoAnswer';
  return failure(error);
}

const failure = (error: Error): Outcome => ({
  is: entryErrors.includes(error.name) ? 'rejected' : 'unavailable',
  error,
});

/**
 * Puts a record that can never be published into the dead-letter queue: the key of its item and the reason, and the event
 * if there is one. The item itself stays in the table, since it may hold a push token or a comment.
 */
export async function sendDeadLetter(
  { eventID, eventName, dynamodb }: StreamRecord,
  error: Error,
  event?: EventEntry,
): Promise<void> {
  const letter = {
    record_id: eventID,
    change: eventName,
    sequence_number: dynamodb.SequenceNumber,
    key: { pk: dynamodb.Keys.pk?.S, sk: dynamodb.Keys.sk?.S },
    reason: error.name,
    ...(event && { type: event.type, detail: event.detail }),
  };
  await queue.send(new SendMessageCommand({ QueueUrl: queueUrl(), MessageBody: JSON.stringify(letter) }));
}
