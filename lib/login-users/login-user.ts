import * as v from 'valibot';
import { timestamp } from '../clock.ts';
import type { Identity } from '../providers/identity.ts';
import { ServiceError } from '../service-error.ts';
import { type Session, session } from '../sessions/session.ts';
import { readItem, readItems, updateItem } from '../storage/items.ts';
import { hashOf, loginUserKey, sessionKey } from '../storage/keys.ts';
import { type BlockedCode, blockedError } from './blocked.ts';
import { listed } from './people-of-login-app.ts';

export const loginUser = v.object({
  login_user_id: v.string(),
  login_app_id: v.string(),
  /** The provider of the latest login. */
  provider: v.string(),
  namespace: v.string(),
  subject: v.string(),
  created_at: v.string(),
  last_login_at: v.string(),
  /** The session that the latest login started. */
  last_session_id: v.optional(v.string()),
  blocked_at: v.optional(v.string()),
});

/** A person as one Login App knows them: who vouches for them, and the subject there. */
export type LoginUser = v.InferOutput<typeof loginUser>;

/** The person of a Login User Token. The user is undefined when a session outlived its Login User. */
export interface AuthenticatedUser {
  loginAppId: string;
  loginUserId: string;
  sessionId: string;
  user: LoginUser | undefined;
}

/**
 * The person, if they exist and are not blocked.
 * @param blockedAs the code for a blocked person
 * @throws ServiceError `not_found` when a session outlived its Login User, or `blockedAs`
 */
export function activeUser({ user }: AuthenticatedUser, blockedAs: BlockedCode): LoginUser {
  if (!user) throw new ServiceError('not_found', 'The Login User does not exist.');
  if (user.blocked_at) throw blockedError(blockedAs);
  return user;
}

/**
 * The id of a person who may see their devices and change them.
 * @throws ServiceError `not_found` when a session outlived its Login User, `forbidden` when the Login User is blocked
 */
export const requireActiveUser = (caller: AuthenticatedUser): string =>
  activeUser(caller, 'forbidden').login_user_id;

/**
 * The same person is always the same Login User of that Login App: the id is a hash, so no race makes two. It has no
 * part of the provider's identifier: another company in its place never vouches for the people of the former one.
 */
export const loginUserIdOf = (loginAppId: string, { namespace, subject }: Identity): string =>
  `lu_${hashOf(loginAppId, namespace, subject)}`;

/** Records a login. `blocked` when this Login User may not log in. */
export async function recordLogin(
  user: Pick<
    LoginUser,
    'login_user_id' | 'login_app_id' | 'provider' | 'namespace' | 'subject' | 'last_session_id'
  >,
): Promise<'recorded' | 'blocked'> {
  const now = timestamp();
  const { login_user_id, ...identity } = user;
  const { done } = await updateItem(loginUserKey(login_user_id), {
    set: { login_user_id, ...identity, last_login_at: now },
    setIfAbsent: { created_at: now, ...listed(user, now) },
    when: { blocked_at: { exists: false } },
  });
  return done ? 'recorded' : 'blocked';
}

/** A Login User and one of their sessions, in one request; undefined where there is none. */
export async function readLoginUserWithSession(
  loginUserId: string,
  sessionId: string,
): Promise<{ user: LoginUser | undefined; session: Session | undefined }> {
  const [userItem, sessionItem] = await readItems([
    loginUserKey(loginUserId),
    sessionKey(loginUserId, sessionId),
  ]);
  return {
    user: userItem && v.parse(loginUser, userItem),
    session: sessionItem && v.parse(session, sessionItem),
  };
}

/** Blocks or unblocks a Login User. False when there is none. */
export async function setBlocked(loginUserId: string, blocked: boolean): Promise<boolean> {
  const { done } = await updateItem(loginUserKey(loginUserId), {
    ...(blocked ? { setIfAbsent: { blocked_at: timestamp() } } : { remove: ['blocked_at'] }),
    when: { pk: { exists: true } },
  });
  return done;
}

export async function readLoginUser(loginUserId: string): Promise<LoginUser | undefined> {
  const item = await readItem(loginUserKey(loginUserId));
  return item && v.parse(loginUser, item);
}
