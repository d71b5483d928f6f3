import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import * as v from 'valibot';

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
