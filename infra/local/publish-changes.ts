import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import * as v from 'valibot';
import { epochSeconds } from '../../lib/foundation/clock.ts';
import type { StoreChange } from './embedded-store.ts';
import { passesFilter } from './filter-stream.ts';

/** Publishes records as the function that reads the table's stream does on AWS. */
type Publish = (event: { Records: unknown[] }) => Promise<unknown>;

/** Milliseconds before a record that was not published is tried again. */
const pause = 1_000;

/**
 * Publishes changes of the embedded store that pass the filter of the stream, one after the other.
 * They wait in memory: a kill loses those that are not published yet.
 */
export function publishChanges() {
  let publish: Publish | undefined;
  let last = Promise.resolve();
  let isOpen = true;
  const publishRecord = async (record: object, by: Publish): Promise<void> => {
    while (!(await isPublished(record, by)) && isOpen) await wait(pause);
  };
  return {
    add: (change: StoreChange): void => {
      if (!publish) return;
      const by = publish;
      const record = recordOf(change);
      if (!passesFilter(record)) return;
      last = last.then(() => publishRecord(record, by));
    },
    /** Publishes from now on; what a table is filled with before is no news. */
    begin: (by: Publish): void => {
      publish = by;
    },
    /** Waits for what has changed, each of which is tried once more at most. */
    end: async (): Promise<void> => {
      isOpen = false;
      await last;
    },
  };
}

/** An answer of the function to a record that it could publish, or that it has put aside. */
const publishedSchema = v.object({ batchItemFailures: v.tuple([]) });

const isPublished = (record: object, publish: Publish): Promise<boolean> =>
  publish({ Records: [record] }).then(
    (answer) => v.is(publishedSchema, answer),
    () => false,
  );

let lastSequence = 0;

/**
 * A change as a record of a stream.
 * @see Amazon DynamoDB Streams API reference, "Record"
 */
function recordOf({ key, before, after }: StoreChange) {
  // The numbers grow over a restart, too: a clock in microseconds.
  lastSequence = Math.max(lastSequence + 1, Date.now() * 1_000);
  return {
    eventID: randomUUID(),
    eventName: nameOf(before !== undefined, after !== undefined),
    dynamodb: {
      SequenceNumber: String(lastSequence),
      ApproximateCreationDateTime: epochSeconds(),
      Keys: key,
      OldImage: before,
      NewImage: after,
    },
  };
}

function nameOf(wasThere: boolean, isThere: boolean): 'INSERT' | 'MODIFY' | 'REMOVE' {
  if (!isThere) return 'REMOVE';
  return wasThere ? 'MODIFY' : 'INSERT';
}
