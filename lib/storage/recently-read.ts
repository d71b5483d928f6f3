import { clock } from '../clock.ts';

/** Milliseconds for which a warm function may use a record again without reading it. */
export const freshForMilliseconds = 30_000;
const mostRecords = 1_000;

/**
 * Caches records for 30 s in a warm function, so that a busy one does not read them for each request. A cached record
 * may grant access but never deny it: where `grants` is false of it, the record is read again.
 */
export function recentlyRead<Record>(read: (id: string) => Promise<Record | undefined>) {
  const records = new Map<string, { record: Record; readAt: number }>();
  return async (id: string, grants: (record: Record) => boolean): Promise<Record | undefined> => {
    const now = clock.now().getTime();
    const cached = records.get(id);
    if (cached && now - cached.readAt < freshForMilliseconds && grants(cached.record)) {
      return cached.record;
    }
    const record = await read(id);
    records.delete(id);
    if (record !== undefined) {
      const oldest = records.keys().next();
      if (records.size >= mostRecords && !oldest.done) records.delete(oldest.value);
      records.set(id, { record, readAt: now });
    }
    return record;
  };
}
