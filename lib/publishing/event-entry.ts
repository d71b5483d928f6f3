import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as v from 'valibot';
import { optionalEnvironment } from '../foundation/environment.ts';
import { probeIds } from '../foundation/ids.ts';
import { hashOf, loginUserPartition } from '../storage/keys.ts';
import { domainEventsOf } from './changes.ts';
import { type PublishedEventType, publishedEvents } from './published-events.ts';

/** An item as DynamoDB writes it: `{"pk": {"S": "DEVICE#d_kP0…"}, …}`. */
const imageSchema = v.record(
  v.string(),
  v.custom<AttributeValue>((value) => typeof value === 'object' && value !== null),
);

/**
 * A change of one item, as Lambda passes it on from the table's stream.
 * @see Amazon DynamoDB Streams API reference, "Record"
 */
const streamRecordSchema = v.object({
  /** The id of the record: equal whenever it is read again. */
  eventID: v.string(),
  eventName: v.picklist(['INSERT', 'MODIFY', 'REMOVE']),
  /** The author of the change, present only if DynamoDB itself removed an expired item. */
  userIdentity: v.nullish(v.object({ principalId: v.string() })),
  dynamodb: v.object({
    /** Digits; they grow with each change of an item. */
    SequenceNumber: v.string(),
    /** Epoch seconds. */
    ApproximateCreationDateTime: v.number(),
    Keys: imageSchema,
    OldImage: v.optional(imageSchema),
    NewImage: v.optional(imageSchema),
  }),
});
export type StreamRecord = v.InferOutput<typeof streamRecordSchema>;

/** The event with which Lambda calls the function. */
export const streamBatchSchema = v.object({ Records: v.array(streamRecordSchema) });

/** The `source` of every published event. */
export const eventSource = 'login-service';

/** A published event on its way to the bus. */
export interface EventEntry {
  type: PublishedEventType;
  occurredAt: Date;
  detail: Record<string, unknown>;
}

/** The principal under which DynamoDB removes expired items. @see Amazon DynamoDB developer guide, "DynamoDB Streams and Time to Live" */
const timeToLive = 'dynamodb.amazonaws.com';

/**
 * The events that a change of the table publishes, often none. A function of the record alone: the same record always
 * gives the same events, with the same ids.
 * @throws Error when the item is not as the service writes it; trying again cannot help
 */
export function entriesOf({ eventID, userIdentity, dynamodb }: StreamRecord): EventEntry[] {
  const { Keys, OldImage, NewImage, SequenceNumber, ApproximateCreationDateTime } = dynamodb;
  const { pk, sk } = v.parse(v.object({ pk: v.string(), sk: v.string() }), unmarshall(Keys));
  // Somebody who logs in while a new version is tried out is nobody to subscribers.
  if (pk.startsWith(loginUserPartition(probeIds.loginUser))) return [];
  const events = domainEventsOf(sk, {
    before: OldImage && unmarshall(OldImage),
    after: NewImage && unmarshall(NewImage),
    isExpiry: userIdentity?.principalId === timeToLive,
  });
  const isShown = optionalEnvironment('EXTERNAL_ID_IN_EVENTS') === 'true';
  const occurredAt = new Date(ApproximateCreationDateTime * 1000);
  return events.map(({ type, item }, place) => ({
    type,
    occurredAt,
    detail: v.parse(publishedEvents[type].detail, {
      ...item,
      external_id: isShown ? item.external_id : undefined,
      id: `pe_${hashOf(eventID, type)}`,
      sequence: `${SequenceNumber.padStart(40, '0')}.${place}`,
      occurred_at: occurredAt.toISOString(),
    }),
  }));
}
