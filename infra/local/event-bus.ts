import { createHash, randomUUID } from 'node:crypto';
import * as v from 'valibot';

/** An event that was put on the bus. */
export interface BusEvent {
  type: string;
  /** JSON. */
  detail: string;
}

const requestSchema = v.object({
  Entries: v.array(v.object({ DetailType: v.string(), Detail: v.string() })),
});

/** Answers EventBridge's PutEvents: the bus takes everything. */
export function putEvents(bus: (event: BusEvent) => void, body: unknown) {
  const { Entries } = v.parse(requestSchema, body);
  for (const { DetailType: type, Detail: detail } of Entries) bus({ type, detail });
  return { FailedEntryCount: 0, Entries: Entries.map(() => ({ EventId: randomUUID() })) };
}

const letterSchema = v.object({ MessageBody: v.string() });

/** Answers SQS's SendMessage to the dead-letter queue: it shows among the events. */
export function sendMessage(bus: (event: BusEvent) => void, body: unknown) {
  const { MessageBody } = v.parse(letterSchema, body);
  bus({ type: 'undeliverable', detail: MessageBody });
  // The SDK compares it.
  return { MessageId: randomUUID(), MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex') };
}
