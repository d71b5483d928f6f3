import { epochSeconds, isoTime } from '../../foundation/clock.ts';
import { logFailure } from '../../log/log.ts';
import { dueAt, guestEndItem } from '../../login-users/guest-end.ts';
import { isGuest, loginUserIn, loginUserItem } from '../../login-users/login-user.ts';
import { forEachInBatches, timeLimit } from '../../storage/batches.ts';
import { deleteItem, type Item, updateItem } from '../../storage/items.ts';
import { dueGuestsList } from '../../storage/keys.ts';
import { readMemberPages } from '../../storage/lists.ts';
import { readPersonWithSessions, type Session } from '../sessions/session.ts';
import { deleteLoginUser } from './delete-login-user.ts';

/** Milliseconds for which guests are looked at in one call. */
const sweepTime = 40_000;
/** Seconds after which no function, whose clock may be slow, can still refresh a session. */
const leeway = 60;

/**
 * Deletes the guests whose session is over, for 40 s; the next call goes on. A failure is logged
 * and does not stop the others.
 * @throws Error in the end when some failed
 */
export async function expireGuests(): Promise<void> {
  const hasTime = timeLimit(sweepTime);
  const now = epochSeconds();
  let failed = 0;
  const expire = async (end: Item) => {
    const { login_user_id } = guestEndItem.parse(end);
    try {
      await lookAt(login_user_id, String(end.list_position));
    } catch (error) {
      failed += 1;
      logFailure('guest_not_expired', error, { login_user_id });
    }
  };
  for await (const ends of readMemberPages(dueGuestsList, isoTime(now))) {
    // The index lags behind the table: some of them may have been put off already.
    const due = ends.filter(({ list_position }) => String(list_position) <= isoTime(now));
    if (!(await forEachInBatches(due, expire, hasTime))) break;
  }
  if (failed > 0) throw new Error(`${failed} guests could not be looked at.`);
}

/**
 * Looks at a guest who is due, and deletes them, unless they have a session or are a person by now.
 * @param position where they are in the list
 */
async function lookAt(loginUserId: string, position: string): Promise<void> {
  const { person, sessions } = await readPersonWithSessions(loginUserId);
  const user = loginUserIn(person);
  const end = guestEndItem(loginUserId);

  // 1. Somebody who is gone, or is being deleted by somebody else, needs no look.
  if (!user) return deleteItem(end);

  // 2. A link of 1.1.0 has made them a person, but has left what made them a guest.
  if (!isGuest(user)) {
    await updateItem(loginUserItem(loginUserId), {
      remove: ['guest_until'],
      when: { guest_until: { exists: true } },
    });
    return deleteItem(end);
  }

  // 3. A session that was refreshed goes on, but not for longer than a guest may live.
  const { guest_until = 0 } = user;
  const sessionEnd = Math.max(...sessions.map(endOfSession));
  const endsAt = Math.min(sessionEnd, guest_until);
  if (endsAt + leeway > epochSeconds()) {
    // The session may end meanwhile, which has them looked at sooner.
    await updateItem(end, {
      set: dueAt(endsAt + leeway),
      when: { list_position: { is: position } },
    });
    return;
  }

  // 4. They go, unless they link an identity meanwhile. 1.1.0 does not remove the first of these
  // attributes, but counts what it links by the other.
  const when = { guest_until: { exists: true }, linked_identities: { is: undefined } };
  await deleteLoginUser(loginUserId, 'expiry', { when });
}

/** Epoch seconds at which a session ends; a time long ago for one that was ended. */
const endOfSession = ({ ended_at, expires_at }: Session): number =>
  ended_at === undefined ? expires_at : 0;
