import { loginUserIn, loginUserItem } from '../../login-users/login-user.ts';
import { readItems } from '../../storage/items.ts';
import { sessionItem, sessionWithId, withCurrentEnd } from './session.ts';

/** A Login User and one of their sessions, in one request; undefined where there is none. */
export async function readLoginUserWithSession(loginUserId: string, sessionId: string) {
  const [userItem, found] = await readItems([
    loginUserItem(loginUserId),
    sessionItem(loginUserId, sessionId),
  ]);
  const session = sessionWithId(sessionId, found);
  return {
    user: loginUserIn(userItem),
    isDeleted: userItem?.deleted_at !== undefined,
    session: session && withCurrentEnd(userItem, session),
  };
}
