import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import * as v from 'valibot';
import { optionalEnvironment } from '../foundation/environment.ts';
import { hashOf, loginUserPartition } from '../storage/keys.ts';
import { probeIds } from '../storage/probe-ids.ts';
import { domainEventsOf } from './projections.ts';
import { type PublishedEventType, publishedEvents } from './published-events.ts';

/** An item as DynamoDB writes it: `{"pk": {"S": "DEVICE#d_kP0…"}, …}`. */
const imageSchema = v.record(
  v.string(),
  v.custom<AttributeValue>((value) => typeof value === 'object' && value !== null),
);

/**
 * A change of one item.
 * @see Amazon DynamoDB Streams API reference, "Record"
 */
const streamRecordSchema = v.object({
  /** The id of the record, whenever it is read. */
  eventID: v.string(),
  eventName: v.picklist(['INSERT', 'MODIFY', 'REMOVE']),
  /** The author of the change, if DynamoDB removed an expired item. */
  userIdentity: v.nullish(v.object({ principalId: v.string() })),
  dynamodb: v.object({
    /** Digits that grow with each change of an item. */
    SequenceNumber: v.string(),
    /** Epoch seconds. */
    ApproximateCreationDateTime: v.number(),
    Keys: imageSchema,
    OldImage: v.optional(imageSchema),
    NewImage: v.optional(imageSchema),
  }),
});
export type StreamRecord = v.InferOutput<typeof streamRecordSchema>;

export const streamBatchSchema = v.object({ Records: v.array(streamRecordSchema) });

export const eventSource = 'login-service';

export interface EventEntry {
  type: PublishedEventType;
  occurredAt: Date;
  detail: Record<string, unknown>;
}

/**
 * The principal that removes expired items.
 * @see Amazon DynamoDB developer guide, "DynamoDB Streams and Time to Live"
 */
const timeToLive = 'dynamodb.amazonaws.com';

/**
 * The events of a change, often none, and the same each time.
 * @throws Error when the item is not as the service writes it
 */
export function entriesOf({ eventID, userIdentity, dynamodb }: StreamRecord): EventEntry[] {
  const { Keys, OldImage, NewImage, SequenceNumber, ApproximateCreationDateTime } = dynamodb;
  const { pk, sk } = v.parse(keySchema, unmarshall(Keys));
  // The person of a probe, who logs in while a new version is checked.
  const isOfProbe = pk.startsWith(loginUserPartition(probeIds.loginUser));
  if (isOfProbe) return [];

  const events = domainEventsOf(sk, {
    before: OldImage && unmarshall(OldImage),
    after: NewImage && unmarshall(NewImage),
    isExpiry: userIdentity?.principalId === timeToLive,
  });
  const hasExternalId = optionalEnvironment('EXTERNAL_ID_IN_EVENTS') === 'true';
  const occurredAt = new Date(ApproximateCreationDateTime * 1000);
  const sequence = SequenceNumber.padStart(40, '0');
  return events.map(({ type, item }, index) => {
    const detail = v.parse(publishedEvents[type].detail, {
      ...item,
      external_id: hasExternalId ? item.external_id : undefined,
      id: `pe_${hashOf(eventID, type)}`,
      sequence: `${sequence}.${index}`,
      occurred_at: occurredAt.toISOString(),
    });
    return { type, occurredAt, detail };
  });
}

const keySchema = v.object({ pk: v.string(), sk: v.string() });
