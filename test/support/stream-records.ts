import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import type { StreamRecord } from '../../lib/publishing/changes.ts';
import { paginateScan } from './loaded-once.ts';

type Image = Record<string, AttributeValue>;

let made = 0;

/** A record as the table's stream has it. */
function streamRecord(
  before: Image | undefined,
  after: Image | undefined,
  over: Partial<StreamRecord> = {},
): StreamRecord {
  made += 1;
  const { pk, sk } = { ...before, ...after };
  if (!pk || !sk) throw new Error('An item has keys.');
  const both = before && after;
  const oneSided = after ? 'INSERT' : 'REMOVE';
  return {
    eventID: `record-${made}`,
    eventName: both ? 'MODIFY' : oneSided,
    dynamodb: {
      SequenceNumber: String(100_000_000 + made),
      ApproximateCreationDateTime: Date.UTC(2026, 0, 31, 8) / 1000,
      Keys: { pk, sk },
      ...(before && { OldImage: before }),
      ...(after && { NewImage: after }),
    },
    ...over,
  };
}

/** An item of the table, in plain values. */
export type Item = Record<string, unknown>;

/** A record of the stream about plain items. */
export const recordOf = (
  before: Item | undefined,
  after: Item | undefined,
  over: Partial<StreamRecord> = {},
) => streamRecord(before && marshall(before), after && marshall(after), over);

/**
 * Stream records of an action, for stores without streams: one for each item that differs
 * afterwards.
 */
export async function recordsDuring(
  client: DynamoDBClient,
  tableName: string,
  action: () => Promise<unknown>,
): Promise<StreamRecord[]> {
  const before = await itemsOf(client, tableName);
  await action();
  const after = await itemsOf(client, tableName);
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  return keys
    .filter((key) => JSON.stringify(before.get(key)) !== JSON.stringify(after.get(key)))
    .map((key) => streamRecord(before.get(key), after.get(key)));
}

async function itemsOf(client: DynamoDBClient, TableName: string): Promise<Map<string, Image>> {
  const items = new Map<string, Image>();
  for await (const { Items = [] } of paginateScan(
    { client },
    { TableName, ConsistentRead: true },
  )) {
    for (const item of Items) {
      const sorted = Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1));
      items.set(`${item.pk?.S}\n${item.sk?.S}`, Object.fromEntries(sorted));
    }
  }
  return items;
}
