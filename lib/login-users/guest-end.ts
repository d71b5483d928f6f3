import * as v from 'valibot';
import { isoTime, timestamp } from '../foundation/clock.ts';
import { itemKind, updateOwnItem } from '../storage/items.ts';
import { dueGuestsList, guestEndKey } from '../storage/keys.ts';

/**
 * When a guest has to be looked at: they may have no session any longer. An item beside that of the
 * Login User, which is in the list of people. It never says that a guest is to be deleted: a
 * refresh does not write it, and 1.1.0 may have linked an identity to them.
 */
export const guestEndItem = itemKind(v.object({ login_user_id: v.string() }), guestEndKey);

/** @param time in epoch seconds */
export const dueAt = (time: number) => ({ list: dueGuestsList, list_position: isoTime(time) });

/** Has a guest looked at soon, since their session has ended. Of a person there is no such item. */
export async function lookSoon(loginUserId: string): Promise<void> {
  await updateOwnItem(guestEndItem(loginUserId), { set: { list_position: timestamp() } });
}
