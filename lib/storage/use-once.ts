import * as v from 'valibot';
import { itemKind, putItem } from './items.ts';
import { usedOnceKey } from './keys.ts';

const usedOnceItem = itemKind(v.object({ expires_at: v.number() }), usedOnceKey);

/**
 * Notes by one conditional write that something which counts once was used. Of several at once, one succeeds.
 * @param end epoch seconds from which it is refused anyway, so that the note can go
 * @param ids its kind, then what tells it from the others of its kind
 * @returns false if it had been used before
 */
export const useOnce = (end: number, ...ids: string[]): Promise<boolean> =>
  putItem(usedOnceItem(...ids), { expires_at: end }, { ifAbsent: true });
