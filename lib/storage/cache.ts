import { clock, isYounger } from '../foundation/clock.ts';

/** Milliseconds that a warm function may use a record without reading it again. */
export const freshForMilliseconds = 30_000;
/** Made-up ids crowd out records, which costs a read each: less than the requests themselves. */
const mostRecords = 1_000;

/**
 * Caches records in a warm function. A cached record may grant access for 30 s, but denies it only for a second: guessing causes
 * one read per record and second, and a new secret works at once unless somebody is guessing those of that record.
 */
export function cached<Ids extends string[], Record>(
  read: (...ids: Ids) => Promise<Record | undefined>,
  { freshFor = freshForMilliseconds, deniedFor = 1_000 } = {},
) {
  const records = new Map<string, { record: Record | undefined; readAt: number; denied: boolean }>();
  /** @param grants whether a record grants what the caller needs; the caller applies it to the answer, too */
  return async (ids: Ids, grants: (record: Record) => boolean): Promise<Record | undefined> => {
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
    records.set(name, { record, readAt: now, denied: record === undefined || !grants(record) });
    return record;
  };
}
