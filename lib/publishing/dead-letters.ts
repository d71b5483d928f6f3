import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { environment } from '../environment.ts';
import type { EventEntry } from './event-entry.ts';
import type { StreamRecord } from './stream-record.ts';

const queueUrl = environment('DEAD_LETTER_QUEUE_URL');

const client = new SQSClient({
  maxAttempts: 2,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true },
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
  await client.send(new SendMessageCommand({ QueueUrl: queueUrl(), MessageBody: JSON.stringify(letter) }));
}
