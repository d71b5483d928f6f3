import { afterAll, beforeEach, expect } from '@jest/globals';
import { passesFilter } from '../../infra/local/filter-stream.ts';
import { type Arrived, problemsOf, startBusStandIn } from './bus-stand-in.ts';
import type { sharedServiceWithStore } from './store-and-service.ts';
import { recordsDuring } from './stream-records.ts';

type Watched = Awaited<ReturnType<typeof sharedServiceWithStore>>;

/** Runs the publishing function on what actions change in the store of a service. */
export async function watchPublishing({ running, dynamoDb, tableName }: Watched) {
  const bus = await startBusStandIn();
  afterAll(() => bus.close());
  beforeEach(() => {
    bus.forget();
    running.resetClock();
  });
  const { handler } = await import('../../functions/publish-events.ts');

  /**
   * The result of an action, and what is published about it: without what differs each time, and
   * behind the filter of the stream. Each event is held against its schema. `passing` counts the
   * changes that pass the filter: each invokes the function if it comes alone.
   */
  async function during<Result>(action: () => Promise<Result>) {
    let result: Promise<Result> | undefined;
    const changes = await recordsDuring(dynamoDb, tableName, () => (result = action()));
    if (!result) throw new Error('The action was not carried out.');
    const Records = changes.filter(passesFilter);
    bus.forget();
    const outcome = await handler({ Records }, { awsRequestId: 'r-1' });
    expect(outcome).toEqual({ batchItemFailures: [] });
    expect(bus.letters).toEqual([]);
    expect(bus.taken.flatMap(problemsOf)).toEqual([]);
    const published = bus.taken.map(plain).toSorted((a, b) => (a.event < b.event ? -1 : 1));
    return { published, passing: Records.length, result: await result };
  }

  /** The part of `during` that most tests need: what is published about an action. */
  const publishedDuring = async (
    action: () => Promise<unknown>,
  ): Promise<Record<string, unknown>[]> => (await during(action)).published;

  return { bus, during, publishedDuring };
}

const plain = ({ DetailType: event, Detail }: Arrived) => {
  const { id, sequence, occurred_at, ...detail } = Detail;
  const times = Object.entries(detail).map(([name, value]) => [
    name,
    name.endsWith('_at') ? 'TIME' : value,
  ]);
  return { event, ...Object.fromEntries(times) };
};
