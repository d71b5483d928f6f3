import { moveRelations } from '../../devices/move-relations.ts';
import { endAllRelations } from '../../devices/relate-device.ts';
import { epochSeconds } from '../../foundation/clock.ts';
import { followForward } from '../../login-users/merged-user.ts';
import { deleteItem } from '../../storage/items.ts';
import { mergeKey } from '../../storage/keys.ts';
import { retryRevocations } from '../identities/revoke-tokens.ts';
import { isOpen, readSessions, removeSessions } from '../sessions/session.ts';
import type { PendingMerge } from './pending-merge.ts';

/** The numbers of what the work after a merge has done. */
export interface FinishedMerge {
  sessions_ended: number;
  devices: number;
  devices_lost: number;
}

/**
 * Does what remains after a merge; can be repeated. The devices get the person who is kept, by one
 * of their sessions. The sessions of the other one go, but for that of a guest, for whom the
 * schedule comes back.
 */
export async function finishMerge(pending: PendingMerge): Promise<FinishedMerge> {
  const { login_user_id, merged_into, session_id, guest_until = 0 } = pending;

  // 1. The devices. The person who is kept may have been merged or deleted since then.
  const { user } = await followForward(merged_into);
  const isSame = user?.login_user_id === merged_into;
  const sessionId = (isSame ? session_id : undefined) ?? user?.last_session_id;
  const relations = user
    ? await moveRelations(login_user_id, { user, sessionId })
    : { moved: 0, ended: await endAllRelations(login_user_id) };
  const devices = { devices: relations.moved, devices_lost: relations.ended };

  // 2. The tokens of identities that were lost.
  await retryRevocations(login_user_id);

  // 3. The sessions, and then nothing is pending.
  if (guest_until > epochSeconds()) return { ...devices, sessions_ended: 0 };
  const sessions = await readSessions(login_user_id);
  await removeSessions(sessions);
  await deleteItem(mergeKey(login_user_id));
  return { ...devices, sessions_ended: sessions.filter(isOpen).length };
}
