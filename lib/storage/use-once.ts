import * as v from 'valibot';
import { itemKind, putItem } from './items.ts';
import { usedOnceKey } from './keys.ts';

const usedOnceItem = itemKind(v.object({ expires_at: v.number() }), usedOnceKey);

/** Notes a use until `end` in epoch seconds. @returns whether it is the first @param ids its kind, then what it is */
export const useOnce = (end: number, ...ids: string[]): Promise<boolean> =>
  putItem(usedOnceItem(...ids), { expires_at: end }, { ifAbsent: true });
