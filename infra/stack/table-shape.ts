import { Stack } from 'aws-cdk-lib';
import {
  AttributeType,
  CfnGlobalTable,
  CfnTable,
  ProjectionType,
  StreamViewType,
  type TablePropsV2,
} from 'aws-cdk-lib/aws-dynamodb';
import * as v from 'valibot';
import { table } from '../../lib/storage/table.ts';
import type { TableInUse } from './resources-in-use.ts';

const text = (name: string) => ({ name, type: AttributeType.STRING });

/** Props that a table needs: `new TableV2(stack, 'People', { ...tableShape })`. */
export const tableShape = {
  partitionKey: text(table.partitionKey),
  sortKey: text(table.sortKey),
  dynamoStream: StreamViewType.NEW_AND_OLD_IMAGES,
  timeToLiveAttribute: table.timeToLive,
  localSecondaryIndexes: Object.entries(table.localIndexes).map(
    ([indexName, { sortKey, projection }]) => ({
      indexName,
      sortKey: text(sortKey),
      projectionType: ProjectionType[projection],
    }),
  ),
  globalSecondaryIndexes: Object.entries(table.globalIndexes).map(
    ([indexName, { partitionKey, sortKey, projection }]) => ({
      indexName,
      partitionKey: text(partitionKey),
      sortKey: text(sortKey),
      projectionType: ProjectionType[projection],
    }),
  ),
} satisfies TablePropsV2;

const keySchema = v.array(v.object({ attributeName: v.string(), keyType: v.string() }));
const indexesSchema = v.optional(
  v.array(
    v.object({
      indexName: v.string(),
      keySchema,
      projection: v.object({ projectionType: v.string() }),
    }),
  ),
  [],
);

/** The properties of a table's resource that the service depends on. */
const madeSchema = v.object({
  keySchema,
  attributeDefinitions: v.array(v.object({ attributeName: v.string(), attributeType: v.string() })),
  localSecondaryIndexes: indexesSchema,
  globalSecondaryIndexes: indexesSchema,
  streamSpecification: v.optional(v.object({ streamViewType: v.string() })),
  timeToLiveSpecification: v.optional(
    v.object({ attributeName: v.optional(v.string()), enabled: v.boolean() }),
  ),
});
type Made = v.InferOutput<typeof madeSchema>;
type Keys = v.InferOutput<typeof keySchema>;

/** Features of a table, by their names for people: `the time to live` is `expires_at`. */
type Facts = Map<string, string>;

/**
 * Ends of sentences about a table that the app makes, such as `must have the global index …`: what
 * the service needs and the table lacks. About an imported one, nothing is known.
 */
export function shortcomingsOf({ node }: TableInUse, publishEvents: boolean): string[] {
  const made = node.defaultChild;
  if (!(made instanceof CfnTable || made instanceof CfnGlobalTable)) return [];
  const resolved: unknown = Stack.of(made).resolve({
    keySchema: made.keySchema,
    attributeDefinitions: made.attributeDefinitions,
    localSecondaryIndexes: made.localSecondaryIndexes,
    globalSecondaryIndexes: made.globalSecondaryIndexes,
    streamSpecification: made.streamSpecification,
    timeToLiveSpecification: made.timeToLiveSpecification,
  });
  const actual = factsOf(v.parse(madeSchema, resolved));
  const lacking = [...neededFacts(publishEvents)].filter(([name, needed]) => {
    const fact = actual.get(name);
    // Copies of all attributes have the keys, too.
    return fact !== needed && fact !== needed.replace('KEYS_ONLY', 'ALL');
  });
  return lacking.map(([name, needed]) => {
    const fact = actual.get(name);
    return `must have ${name} ${needed}${fact === undefined ? '' : `, not ${fact}`}`;
  });
}

const keyText = (keys: Keys, types: Map<string, string>): string =>
  keys
    .map(({ keyType, attributeName: name }) => `${keyType} ${name} (${types.get(name)})`)
    .join(', ');

function factsOf(made: Made): Facts {
  const types = new Map(
    made.attributeDefinitions.map(({ attributeName, attributeType }) => [
      attributeName,
      attributeType,
    ]),
  );
  const indexes = (kind: string, all: Made['localSecondaryIndexes']): [string, string][] =>
    all.map(({ indexName, keySchema, projection }) => [
      `the ${kind} index ${indexName}:`,
      `${keyText(keySchema, types)}, projection ${projection.projectionType}`,
    ]);
  const { streamSpecification: stream, timeToLiveSpecification: timeToLive } = made;
  return new Map([
    ['the key', keyText(made.keySchema, types)],
    ...indexes('local', made.localSecondaryIndexes),
    ...indexes('global', made.globalSecondaryIndexes),
    ...(stream ? [['a stream of', stream.streamViewType] as const] : []),
    ...(timeToLive?.enabled ? [['the time to live', timeToLive.attributeName ?? ''] as const] : []),
  ]);
}

function neededFacts(publishEvents: boolean): Facts {
  const key = (partition: string, sort: string) => `HASH ${partition} (S), RANGE ${sort} (S)`;
  const { localIndexes, globalIndexes } = table;
  return new Map([
    ['the key', key(table.partitionKey, table.sortKey)],
    ...Object.entries(localIndexes).map(
      ([name, { sortKey, projection }]) =>
        [
          `the local index ${name}:`,
          `${key(table.partitionKey, sortKey)}, projection ${projection}`,
        ] as const,
    ),
    ...Object.entries(globalIndexes).map(
      ([name, { partitionKey, sortKey, projection }]) =>
        [
          `the global index ${name}:`,
          `${key(partitionKey, sortKey)}, projection ${projection}`,
        ] as const,
    ),
    ...(publishEvents ? [['a stream of', tableShape.dynamoStream] as const] : []),
    ['the time to live', table.timeToLive],
  ]);
}
