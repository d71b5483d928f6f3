import {
  BatchWriteItemCommand,
  type BatchWriteItemCommandInput,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { listsOf } from '../../lib/access-requests/access-request.ts';
import { eventKey, ordinalIn } from '../../lib/storage/keys.ts';
import { table } from '../../lib/storage/table.ts';

/** DynamoDB takes so many items in one request. */
const batchSize = 25;
const side = 8;

const actorCount = 7;

/**
 * The event with this id: of two actor types and seven actors, every third a review, about 200
 * bytes.
 */
const eventOf = (accessRequestId: number, id: number) => {
  const at = new Date(Date.UTC(2020, 0, 1) + id * 1000).toISOString();
  return {
    id,
    access_request_id: accessRequestId,
    type: id % 3 === 0 ? ('review' as const) : ('comment' as const),
    actor_type: id % 2 === 0 ? ('custom' as const) : ('login_user' as const),
    actor_id: `actor-${id % actorCount}`,
    comment: `Event number ${id}, which says as much as events do.`.padEnd(60, '.'),
    created_at: at,
    updated_at: at,
    ...(id % 3 === 0 && { status: 'approved' as const }),
  };
};

/**
 * Writes the events of these ids as the service would.
 * @param lengths of the access request's lists so far
 */
export async function writeEvents(
  dynamoDb: DynamoDBClient,
  tableName: string,
  accessRequestId: number,
  [first, last]: [number, number],
  lengths: Map<string, number>,
): Promise<void> {
  const itemOf = (id: number) => {
    const event = eventOf(accessRequestId, id);
    const ordinals = listsOf(accessRequestId, event).map(({ index, name }) => {
      const ordinal = (lengths.get(`${index} ${name}`) ?? 0) + 1;
      lengths.set(`${index} ${name}`, ordinal);
      return [index && table.localIndexes[index].sortKey, ordinalIn(name, ordinal)];
    });
    return { ...eventKey(accessRequestId, id), ...event, ...Object.fromEntries(ordinals) };
  };
  // The ordinals grow with the ids.
  const items = Array.from({ length: last - first + 1 }, (_, place) => itemOf(first + place));
  await writeItems(dynamoDb, tableName, items);
}

/** Writes items, many at once. */
export async function writeItems(dynamoDb: DynamoDBClient, tableName: string, items: object[]) {
  const writeBatch = async (start: number) => {
    let requests: BatchWriteItemCommandInput['RequestItems'] = {
      [tableName]: items
        .slice(start, start + batchSize)
        .map((item) => ({ PutRequest: { Item: marshall(item, { removeUndefinedValues: true }) } })),
    };
    while (requests && Object.keys(requests).length > 0) {
      const command: BatchWriteItemCommand = new BatchWriteItemCommand({ RequestItems: requests });
      requests = (await dynamoDb.send(command)).UnprocessedItems;
    }
  };
  for (let start = 0; start < items.length; start += batchSize * side) {
    const starts = Array.from({ length: side }, (_, place) => start + place * batchSize);
    await Promise.all(starts.filter((one) => one < items.length).map(writeBatch));
  }
}
