import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand } from '@aws-sdk/lib-dynamodb';
import * as v from 'valibot';
import { domainEventsOf } from '../../lib/publishing/projections.ts';
import type { store as serviceStore } from '../../lib/storage/client.ts';
import type { Item } from '../../lib/storage/items.ts';
import { type GlobalIndex, table } from '../../lib/storage/table.ts';
import type { Answer } from '../support/service.ts';
import { assumptions, prices } from './prices.ts';

/**
 * Holder of the partitions that a write takes units of: the table, with its local indexes, or a
 * global index.
 */
export type Place = 'table' | GlobalIndex;

const indexes = [
  ...Object.values(table.localIndexes).map((index) => ({
    place: 'table',
    partitionKey: table.partitionKey,
    ...index,
  })),
  ...Object.entries(table.globalIndexes).map(([place, index]) => ({ place, ...index })),
];

/**
 * Write units by partition. The local store counts the item alone; AWS bills the indexes too: one
 * write for an entry that comes, goes or changes, two for one that moves. Every write changes
 * `write_id`, which only indexes with all attributes have.
 * @see Amazon DynamoDB developer guide, "Using Global Secondary Indexes in DynamoDB" and "Local
 *   Secondary Indexes": write capacity units
 */
function writtenBy(before: Item | undefined, after: Item | undefined, itemUnits: number) {
  const partition = String((after ?? before)?.[table.partitionKey]);
  return [
    { place: 'table', partition, units: itemUnits },
    ...indexes.flatMap(({ place, partitionKey, sortKey, projection }) => {
      const [was, is] = [before, after].map((item) =>
        item?.[partitionKey] === undefined || item[sortKey] === undefined
          ? undefined
          : { partition: String(item[partitionKey]), position: item[sortKey] },
      );
      const stays = was?.partition === is?.partition && was?.position === is?.position;
      const written = stays ? [projection === 'ALL' ? is : undefined] : [was, is];
      const units = projection === 'ALL' ? itemUnits : 1;
      return written.flatMap((entry) => entry ?? []).map((entry) => ({ ...entry, place, units }));
    }),
  ];
}

export interface Cost {
  storeRequests: number;
  readUnits: number;
  writeUnits: number;
  /**
   * How many of the write units the table and each index gave, and the partition of each that gave
   * most.
   */
  written: { [At in Place]?: { units: number; busiest: number } };
  events: number;
  /** Bytes that its function logs, rounded up to hundreds. */
  logBytes: number;
  /** Bytes of the response. */
  bytesOut: number;
}

const units = v.object({ CapacityUnits: v.number() });
const consumed = v.object({
  ConsumedCapacity: v.union([
    v.pipe(
      units,
      v.transform((one) => [one]),
    ),
    v.array(units),
  ]),
});

const total = (units: number[]): number => units.reduce((sum, one) => sum + one, 0);

const writeSchema = v.object({
  TableName: v.string(),
  Key: v.optional(v.record(v.string(), v.unknown())),
  Item: v.optional(v.record(v.string(), v.unknown())),
});

/** The writes that a call makes: none for a read, and without the checks of a transaction. */
function writesOf(operation: string, input: object): unknown[] {
  if (/^(Get|BatchGet|Query)/.test(operation)) return [];
  if (!('TransactItems' in input)) return [input];
  const members: { Put?: unknown; Update?: unknown; Delete?: unknown }[] = Object(
    input.TransactItems,
  );
  return members.flatMap(({ Put, Update, Delete }) => Put ?? Update ?? Delete ?? []);
}

/**
 * Measures the store capacity, events and log bytes of requests, through the handlers in this
 * process.
 */
export class Meter {
  readonly #ownClient = DynamoDBDocumentClient.from(new DynamoDBClient());
  #cost = { storeRequests: 0, readUnits: 0, events: 0, logBytes: 0 };
  /** Write units by place and partition. */
  #written = new Map<string, Map<string, number>>();

  constructor(store: typeof serviceStore) {
    const { call } = store;
    store.call = async (operation, input) => {
      this.#cost.storeRequests += 1;
      const writes = writesOf(operation, input);
      const before = await Promise.all(writes.map((write) => this.#itemOf(write)));
      const output = await call(operation, { ...input, ReturnConsumedCapacity: 'TOTAL' });
      const taken = v.parse(consumed, output).ConsumedCapacity;
      const units = total(taken.map(({ CapacityUnits }) => CapacityUnits));
      if (writes.length === 0) this.#cost.readUnits += units;
      // The store tells the units of a whole transaction.
      for (const [place, write] of writes.entries())
        this.#count(before[place], await this.#itemOf(write), units / writes.length);
      return output;
    };
    // The functions log to standard output; from now on, their lines are counted and not shown.
    process.stdout.write = (text: string | Uint8Array) => {
      this.#cost.logBytes += Buffer.byteLength(text);
      return true;
    };
  }

  /** The item that a write is about, as it is now. */
  async #itemOf(write: unknown): Promise<Item | undefined> {
    const { TableName, Key, Item: { pk, sk } = {} } = v.parse(writeSchema, write);
    const { Item } = await this.#ownClient.send(
      new GetCommand({ TableName, Key: Key ?? { pk, sk }, ConsistentRead: true }),
    );
    return Item;
  }

  #count(before: Item | undefined, after: Item | undefined, itemUnits: number): void {
    for (const { place, partition, units } of writtenBy(before, after, itemUnits)) {
      const partitions = this.#written.get(place) ?? new Map<string, number>();
      this.#written.set(place, partitions.set(partition, (partitions.get(partition) ?? 0) + units));
    }
    this.#cost.events += domainEventsOf(String((after ?? before)?.sk), {
      before,
      after,
      isExpiry: false,
    }).length;
  }

  /**
   * What an action consumes.
   * @param expected the status of its answer, if it is no success
   */
  async measure(action: () => Promise<Answer>, expected?: number): Promise<Cost> {
    this.#cost = { storeRequests: 0, readUnits: 0, events: 0, logBytes: 0 };
    this.#written = new Map();
    const { status, text } = await action();
    const isExpected = expected === undefined ? status < 300 : status === expected;
    if (!isExpected) throw new Error(`${status}: ${text}`);
    const written = [...this.#written].map(([place, partitions]) => {
      const units = [...partitions.values()];
      return [place, { units: total(units), busiest: Math.max(...units) }] as const;
    });
    return {
      ...this.#cost,
      writeUnits: total(written.map(([, { units }]) => units)),
      written: Object.fromEntries(written),
      logBytes: Math.ceil(this.#cost.logBytes / 100) * 100,
      bytesOut: assumptions.headBytes + Buffer.byteLength(text),
    };
  }
}

/**
 * Dollars for one request.
 * @param waiting milliseconds for a provider
 */
export function dollars(
  { readUnits, writeUnits, events, logBytes }: Cost,
  waiting = 0,
): Record<string, number> {
  const seconds = (assumptions.milliseconds + waiting) / 1000;
  return {
    gateway: prices.apiRequest,
    function: prices.invocation + seconds * assumptions.gigabytes * prices.gigabyteSecond,
    table: readUnits * prices.readUnit + writeUnits * prices.writeUnit,
    log: ((logBytes + assumptions.accessLogBytes) / 1e9) * prices.logGigabyte,
    events: events * prices.event,
  };
}
