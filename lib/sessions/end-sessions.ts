import { timestamp } from '../clock.ts';
import { endRelationsWhere } from '../devices/end-relation.ts';
import type { LogEvents } from '../log/events.ts';
import { logEvent } from '../log/log.ts';
import { type LoginUserItem, whileExisting } from '../login-users/login-user.ts';
import { begunIn } from '../login-users/sessions-of-person.ts';
import type { Conditions } from '../storage/expressions.ts';
import { inTurns } from '../storage/in-turns.ts';
import { updateItem } from '../storage/items.ts';
import { loginUserKey } from '../storage/keys.ts';
import { endSession } from './end-session.ts';
import { isOpen, readPersonWithSessions } from './session.ts';

type Ender = LogEvents['sessions_ended']['by'];

/**
 * Ends all sessions of a Login User that have begun, by one write on the Login User, however many there are. It comes
 * after the relations of devices have ended, so that the session that asks can repeat what was interrupted.
 * @param except the id of a session that goes on
 * @param when what must hold of the Login User
 * @returns whether it held
 */
export async function endSessions(
  loginUserId: string,
  by: Ender,
  except?: string,
  when: Conditions = {},
): Promise<boolean> {
  await endRelationsWhere(loginUserId, ({ related_session_id: id }) => id !== undefined && id !== except);
  const { done } = await updateItem<LoginUserItem>(loginUserKey(loginUserId), {
    set: { sessions_ended_at: timestamp(), ...(except !== undefined && { sessions_ended_except: except }) },
    copy: { sessions_ended_before: 'sessions_begun' },
    ...(except === undefined && { remove: ['sessions_ended_except'] }),
    when: { ...whileExisting, ...when },
  });
  if (done) logEvent('sessions_ended', { login_user_id: loginUserId, by });
  return done;
}

/** Ends the open sessions of a Login User that began at a time, in epoch seconds, or before it. */
export async function endSessionsBegunBy(loginUserId: string, by: Ender, time: number): Promise<void> {
  const { person, sessions } = await readPersonWithSessions(loginUserId);
  const open = sessions.filter(isOpen);
  const ending = open.filter(({ started_at }) => started_at <= time);
  if (ending.length === 0) return;
  if (ending.length === open.length) {
    const begun = begunIn(person);
    const nobodyLoggedIn = { sessions_begun: begun === 0 ? { exists: false } : { is: begun } };
    if (await endSessions(loginUserId, by, undefined, nobodyLoggedIn)) return;
  }
  await inTurns(ending, ({ session_id }) => endSession(loginUserId, session_id, by));
}
