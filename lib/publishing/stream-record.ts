import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import * as v from 'valibot';

/** An item as DynamoDB writes it: `{"pk": {"S": "DEVICE#d_kP0…"}, …}`. */
const image = v.record(
  v.string(),
  v.custom<AttributeValue>((value) => typeof value === 'object' && value !== null),
);

/**
 * A change of one item, as Lambda passes it on from the table's stream.
 * @see Amazon DynamoDB Streams API reference, "Record"
 */
export const streamRecord = v.object({
  /** The same whenever this record is read. */
  eventID: v.string(),
  eventName: v.picklist(['INSERT', 'MODIFY', 'REMOVE']),
  /** Who made the change, if it was DynamoDB itself, which removes expired items. */
  userIdentity: v.nullish(v.object({ principalId: v.string() })),
  dynamodb: v.object({
    /** Digits; they grow with each change of an item. */
    SequenceNumber: v.string(),
    /** Epoch seconds. */
    ApproximateCreationDateTime: v.number(),
    Keys: image,
    OldImage: v.optional(image),
    NewImage: v.optional(image),
  }),
});
export type StreamRecord = v.InferOutput<typeof streamRecord>;

/** The event with which Lambda calls the function. */
export const streamBatch = v.object({ Records: v.array(streamRecord) });
