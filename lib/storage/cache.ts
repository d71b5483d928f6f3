import { clock, isYounger } from '../foundation/clock.ts';

/** Milliseconds that a warm function may use a record without reading it again. */
export const freshForMilliseconds = 30_000;
/** Made-up ids crowd out records, which costs a read each: less than the requests themselves. */
const mostRecords = 1_000;

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
  const records = new Map<
    string,
    { record: Record | undefined; readAt: number; denied: boolean }
  >();
  /**
   * @param grants whether a record grants what the caller needs; the caller applies it to the
   *   answer, too
   */
  return async (ids: Ids, grants: (record: Record) => boolean): Promise<Record | undefined> => {
    if (!areIds(...ids)) return undefined;
    const name = ids.join(' ');
    const now = clock.now().getTime();
    const cached = records.get(name);
    const isRecent = (milliseconds: number) => cached && isYounger(cached.readAt, milliseconds);
    if (cached?.record && isRecent(freshFor) && grants(cached.record)) return cached.record;
    if (cached?.denied && isRecent(deniedFor)) return cached.record;
    const record = await read(...ids);
    records.delete(name);
    const oldest = records.keys().next();
    if (records.size >= mostRecords && !oldest.done) records.delete(oldest.value);
    records.set(ownCopy(name), {
      record,
      readAt: now,
      denied: record === undefined || !grants(record),
    });
    return record;
  };
}

/**
 * A copy of a text. The engine may have cut the text out of a whole body, which would stay in
 * memory with it.
 */
const ownCopy = (text: string): string => Buffer.from(text).toString();
