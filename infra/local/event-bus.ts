import { createHash, randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { localAccount } from './local-sts.ts';

/** A published event as EventBridge delivers it. @see Amazon EventBridge events reference, "AWS service event metadata" */
export interface Envelope {
  version: '0';
  id: string;
  'detail-type': string;
  source: string;
  account: string;
  /** To the second: `2026-01-31T08:00:00Z`. */
  time: string;
  region: string;
  resources: string[];
  detail: Record<string, unknown>;
}

/** Receiver of everything that is published. */
export interface Bus {
  takeEvent(event: Envelope): void;
  /** Takes a message to the dead-letter queue, in JSON. */
  takeDeadLetter(message: string): void;
}

const requestSchema = v.object({
  Entries: v.array(
    v.object({ Source: v.string(), DetailType: v.string(), Time: v.number(), Detail: v.string() }),
  ),
});

/** Answers EventBridge's PutEvents: the bus takes everything. */
export function putEvents(bus: Bus, body: unknown) {
  const { Entries } = v.parse(requestSchema, body);
  const events = Entries.map(
    ({ Source, DetailType, Time, Detail }): Envelope => ({
      version: '0',
      id: randomUUID(),
      'detail-type': DetailType,
      source: Source,
      account: localAccount,
      time: new Date(Time * 1000).toISOString().replace(/\.\d+/, ''),
      region: 'us-east-1',
      resources: [],
      detail: JSON.parse(Detail),
    }),
  );
  for (const event of events) bus.takeEvent(event);
  return { FailedEntryCount: 0, Entries: events.map(({ id }) => ({ EventId: id })) };
}

const letterSchema = v.object({ MessageBody: v.string() });

/** Answers SQS's SendMessage to the dead-letter queue. */
export function sendMessage({ takeDeadLetter }: Pick<Bus, 'takeDeadLetter'>, body: unknown) {
  const { MessageBody } = v.parse(letterSchema, body);
  takeDeadLetter(MessageBody);
  // The SDK compares it.
  return { MessageId: randomUUID(), MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex') };
}
