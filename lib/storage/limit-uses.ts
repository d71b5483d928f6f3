import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { itemKind, updateItem } from './items.ts';
import { usesInSpanKey } from './keys.ts';

const usesInSpanItem = itemKind(
  v.object({ uses: v.number(), expires_at: v.number() }),
  usesInSpanKey,
);

/** The most uses in each span of so many seconds. Spans are counted since 1970. */
interface Quota {
  most: number;
  seconds: number;
}

/**
 * Counts a use, of which each span may have so many.
 * @param ids its kind, then what is used. A kind has one length of its spans
 * @returns the seconds until the next span, if this one has had them all
 */
export async function limitUses(
  { most, seconds }: Quota,
  ...ids: string[]
): Promise<number | undefined> {
  const now = epochSeconds();
  const span = Math.floor(now / seconds);
  const { done } = await updateItem(usesInSpanItem(...ids, String(span)), {
    set: { expires_at: (span + 2) * seconds },
    count: { uses: { by: 1 } },
    when: { uses: { isNotFrom: most } },
  });
  return done ? undefined : (span + 1) * seconds - now;
}
