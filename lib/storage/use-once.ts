import * as v from 'valibot';
import { itemKind, putItem, readItem } from './items.ts';
import { usedOnceKey } from './keys.ts';

const usedOnceItem = itemKind(
  v.object({
    expires_at: v.number(),
    /** The use that may be repeated; absent where none may. */
    used_for: v.optional(v.string()),
  }),
  usedOnceKey,
);

/**
 * Notes a use until `end` in epoch seconds.
 * @returns whether it is the first
 * @param ids its kind, then what it is
 */
export const useOnce = (end: number, ...ids: string[]): Promise<boolean> =>
  putItem(usedOnceItem(...ids), { expires_at: end }, { ifAbsent: true });

/**
 * Notes a use until `end` in epoch seconds. It may be repeated: its answer may have been lost.
 * @param use who uses it, and for what
 * @param ids its kind, then what it is
 * @returns whether there was no other use
 */
export async function useForOne(use: string, end: number, ...ids: string[]): Promise<boolean> {
  const key = usedOnceItem(...ids);
  if (await putItem(key, { expires_at: end, used_for: use }, { ifAbsent: true })) return true;
  return (await readItem(key))?.used_for === use;
}
