import { clock, isYounger } from '../foundation/clock.ts';

/** Milliseconds that a warm function may use a record without reading it again. */
export const freshForMilliseconds = 30_000;
/** Made-up ids crowd out records, which costs a read each: less than the requests themselves. */
const mostRecords = 1_000;

/** The outcome of a read. */
interface Read<Record> {
  record: Record | undefined;
  /** Milliseconds since 1970. */
  readAt: number;
  /** Whether there was no record, or it did not grant what its caller needed. */
  denied: boolean;
}

/**
 * Caches records in a warm function. A cached record may grant access for 30 s, but denies it only
 * for a second: guessing causes one read per record and second, and a new secret works at once
 * unless somebody is guessing those of that record.
 * @param areIds whether ids have the form of ids. Others may be of any length: they are neither
 *   read nor kept
 */
export function cached<Ids extends string[], Record>(
  areIds: (...ids: Ids) => boolean,
  read: (...ids: Ids) => Promise<Record | undefined>,
  { freshFor = freshForMilliseconds, deniedFor = 1_000 } = {},
) {
  /** The latest read of each record, the oldest first. */
  const reads = new Map<string, Read<Record>>();

  function keep(name: string, latest: Read<Record>): void {
    reads.delete(name);
    const oldest = reads.keys().next();
    if (reads.size >= mostRecords && !oldest.done) reads.delete(oldest.value);
    reads.set(ownCopy(name), latest);
  }

  /**
   * Finds a record that grants what the caller needs. Reads it again if the cached one does not.
   * @param grants whether a record does; the caller applies it to the answer, too
   */
  async function findGranting(
    ids: Ids,
    grants: (record: Record) => boolean,
  ): Promise<Record | undefined> {
    if (!areIds(...ids)) return undefined;
    const name = ids.join(' ');
    const earlier = reads.get(name);
    if (earlier) {
      const { record, readAt, denied } = earlier;
      const isFresh = isYounger(readAt, freshFor);
      if (isFresh && record && grants(record)) return record;
      // Whoever guesses learns what the last read said.
      if (denied && isYounger(readAt, deniedFor)) return record;
    }
    const readAt = clock.now().getTime();
    const record = await read(...ids);
    const denied = record === undefined || !grants(record);
    keep(name, { record, readAt, denied });
    return record;
  }

  /** Finds a record, whatever it says. */
  const find = (...ids: Ids): Promise<Record | undefined> => findGranting(ids, () => true);

  /** Reads a record again, unless the last read of it was denied a moment ago. */
  const reread = (...ids: Ids): Promise<Record | undefined> => findGranting(ids, () => false);

  return { find, findGranting, reread };
}

/**
 * A copy of a text. The engine may have cut the text out of a whole body, which would stay in
 * memory with it.
 */
const ownCopy = (text: string): string => Buffer.from(text).toString();
