import { createHash } from 'node:crypto';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { paginateQuery } from './loaded-once.ts';

type Item = Record<string, unknown>;

const hash = (...parts: string[]) =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url');

/**
 * The list of each index that an event must stand in, by its sort key; written independently of the
 * service's own code.
 */
const listsOf: Record<string, { sortKey: string; list: (event: Item) => string | undefined }> = {
  by_actor_type: { sortKey: 'actor_type_ordinal', list: ({ actor_type }) => String(actor_type) },
  by_actor_id: { sortKey: 'actor_id_ordinal', list: ({ actor_id }) => hash(String(actor_id)) },
  by_actor: {
    sortKey: 'actor_ordinal',
    list: ({ actor_type, actor_id }) => `${actor_type}#${hash(String(actor_id))}`,
  },
  by_review: {
    sortKey: 'review_ordinal',
    list: ({ type }) => (type === 'review' ? 'REVIEW' : undefined),
  },
};

/**
 * Everything wrong with an access request's events in the table and each index: ids, ordinals,
 * entries, repeated keys.
 */
export async function problemsOfEvents(
  dynamoDb: DynamoDBClient,
  tableName: string,
  accessRequestId: number,
): Promise<string[]> {
  const read = (index?: string) =>
    readAll(dynamoDb, tableName, `ACCESS_REQUEST#${accessRequestId}`, index);
  const events = (await read()).filter(({ sk }) => String(sk).startsWith('EVENT#'));
  const problems = events.flatMap((event, place) => [
    ...expectEqual(`id of the event at ${place}`, event.id, place + 1),
    ...expectEqual(`sort key of ${event.id}`, event.sk, `EVENT#${padded(place + 1)}`),
    ...expectEqual(`access request of ${event.id}`, event.access_request_id, accessRequestId),
  ]);
  for (const [index, { sortKey, list }] of Object.entries(listsOf)) {
    const lengths = new Map<string, number>();
    const expected = events.map((event) => {
      const name = list(event);
      if (name === undefined) return undefined;
      lengths.set(name, (lengths.get(name) ?? 0) + 1);
      return `${name}#${padded(lengths.get(name) ?? 0)}`;
    });
    for (const [place, event] of events.entries()) {
      problems.push(...expectEqual(`${sortKey} of ${event.id}`, event[sortKey], expected[place]));
    }
    const entries = (await read(index)).map((entry) => `${entry[sortKey]} ${entry.sk}`);
    const wanted = events.flatMap(({ sk }, place) =>
      expected[place] ? [`${expected[place]} ${sk}`] : [],
    );
    problems.push(...expectEqual(`entries of ${index}`, entries.join(), wanted.toSorted().join()));
  }
  const keys = events.flatMap(({ idempotency_key }) =>
    idempotency_key ? [String(idempotency_key)] : [],
  );
  const names = keys.map((key) => key.slice(0, -17));
  return [...problems, ...expectEqual('idempotency keys', new Set(names).size, names.length)];
}

async function readAll(client: DynamoDBClient, TableName: string, pk: string, index?: string) {
  const query = {
    TableName,
    ...(index && { IndexName: index }),
    ConsistentRead: true,
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': { S: pk } },
  };
  const items: Item[] = [];
  for await (const { Items = [] } of paginateQuery({ client }, query))
    items.push(...Items.map((item) => unmarshall(item)));
  return items;
}

const padded = (ordinal: number): string => String(ordinal).padStart(16, '0');

const expectEqual = (what: string, found: unknown, wanted: unknown): string[] =>
  found === wanted ? [] : [`${what}: ${String(found)} instead of ${String(wanted)}`];
