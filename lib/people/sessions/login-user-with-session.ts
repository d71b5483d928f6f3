import { loginUserIn } from '../../login-users/login-user.ts';
import { readItems } from '../../storage/items.ts';
import { loginUserKey, sessionKey } from '../../storage/keys.ts';
import { asItStands, sessionIn } from './session.ts';

/** A Login User and one of their sessions, in one request; undefined where there is none. */
export async function readLoginUserWithSession(loginUserId: string, sessionId: string) {
  const [userItem, itemOfSession] = await readItems([
    loginUserKey(loginUserId),
    sessionKey(loginUserId, sessionId),
  ]);
  const session = sessionIn(itemOfSession, sessionId);
  return {
    user: loginUserIn(userItem),
    isDeleted: userItem?.deleted_at !== undefined,
    session: session && asItStands(userItem, session),
  };
}
