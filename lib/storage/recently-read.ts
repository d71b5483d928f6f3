import { clock } from '../clock.ts';

/** Milliseconds for which a warm function may use a record again without reading it. */
export const freshForMilliseconds = 30_000;
const mostRecords = 1_000;

/**
 * Remembers records for 30 s in a warm function, so that a busy one does not read them for each request.
 * A remembered record can only say yes: where `says yes` fails on it, it is read anew before anything is refused.
 */
export function recentlyRead<Record>(read: (id: string) => Promise<Record | undefined>) {
  const records = new Map<string, { record: Record; readAt: number }>();
  return async (id: string, saysYes: (record: Record) => boolean): Promise<Record | undefined> => {
    const now = clock.now().getTime();
    const remembered = records.get(id);
    if (remembered && now - remembered.readAt < freshForMilliseconds && saysYes(remembered.record)) {
      return remembered.record;
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
