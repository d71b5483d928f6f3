import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { itemKind, updateItem } from './items.ts';
import { usesInMinuteKey } from './keys.ts';

const usesInMinuteItem = itemKind(
  v.object({ uses: v.number(), expires_at: v.number() }),
  usesInMinuteKey,
);

/**
 * Counts a use, of which a minute may have so many.
 * @param ids its kind, then what is used
 * @returns the seconds until the next minute, if this one has had them all
 */
export async function limitUses(most: number, ...ids: string[]): Promise<number | undefined> {
  const now = epochSeconds();
  const minute = Math.floor(now / 60);
  const { done } = await updateItem(usesInMinuteItem(...ids, String(minute)), {
    set: { expires_at: (minute + 2) * 60 },
    count: { uses: { by: 1 } },
    when: { uses: { isNotFrom: most } },
  });
  return done ? undefined : (minute + 1) * 60 - now;
}
