import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as v from 'valibot';
import { assumptions, prices } from './prices.ts';

/** What one request consumes. */
export interface Cost {
  storeRequests: number;
  readUnits: number;
  writeUnits: number;
  /** Bytes that its function logs, rounded up to hundreds. */
  logBytes: number;
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

/**
 * Measures what requests consume of the store and of the log, through the handlers in this process. Each call asks the
 * store what it consumed.
 */
export class Meter {
  #cost: Cost = { storeRequests: 0, readUnits: 0, writeUnits: 0, logBytes: 0 };

  constructor(client: DynamoDBDocumentClient) {
    client.middlewareStack.add(
      (next, { commandName }) =>
        async (call) => {
          Object.assign(call.input, { ReturnConsumedCapacity: 'TOTAL' });
          const result = await next(call);
          const taken = v.parse(consumed, result.output).ConsumedCapacity;
          const isRead = /^(Get|BatchGet|Query)/.test(commandName ?? '');
          this.#cost.storeRequests += 1;
          for (const { CapacityUnits } of taken)
            this.#cost[isRead ? 'readUnits' : 'writeUnits'] += CapacityUnits;
          return result;
        },
      { step: 'initialize', name: 'meter' },
    );
    // The functions log to standard output; from now on, their lines are counted and not shown.
    process.stdout.write = (text: string | Uint8Array) => {
      this.#cost.logBytes += Buffer.byteLength(text);
      return true;
    };
  }

  /** What a successful action consumes. */
  async measure(action: () => Promise<Response>): Promise<Cost> {
    this.#cost = { storeRequests: 0, readUnits: 0, writeUnits: 0, logBytes: 0 };
    const { ok, status, url } = await action();
    if (!ok) throw new Error(`${url} answered ${status}.`);
    return { ...this.#cost, logBytes: Math.ceil(this.#cost.logBytes / 100) * 100 };
  }
}

/** Dollars for one request. @param waiting milliseconds for a provider */
export function dollars({ readUnits, writeUnits, logBytes }: Cost, waiting = 0): Record<string, number> {
  const seconds = (assumptions.milliseconds + waiting) / 1000;
  return {
    gateway: prices.apiRequest,
    function: prices.invocation + seconds * assumptions.gigabytes * prices.gigabyteSecond,
    table: readUnits * prices.readUnit + writeUnits * prices.writeUnit,
    log: ((logBytes + assumptions.accessLogBytes) / 1e9) * prices.logGigabyte,
  };
}
