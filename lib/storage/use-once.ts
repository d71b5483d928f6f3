import * as v from 'valibot';
import { itemKind, putItem } from './items.ts';
import { usedOnceKey } from './keys.ts';

const usedOnceItem = itemKind(v.object({ expires_at: v.number() }), usedOnceKey);

/**
 * Notes a use; false if there was one before. Of several at once, one succeeds.
 * @param end epoch seconds from which it is refused anyway
 * @param ids its kind, then what tells it from others of its kind
 */
export const useOnce = (end: number, ...ids: string[]): Promise<boolean> =>
  putItem(usedOnceItem(...ids), { expires_at: end }, { ifAbsent: true });
