import { isCurrentClient } from '../login-apps/clients.ts';
import { authenticateLoginAppToken, isLongLived } from '../login-apps/login-app-tokens.ts';
import { findStatus } from '../login-apps/status.ts';
import {
  isActive,
  readLoginUserWithSession,
  type Session,
  type SessionGeneration,
} from '../people/sessions/session.ts';
import { parameters, required } from '../schema/form-parameters.ts';
import type { AccessTokenPayload } from './access-token.ts';
import { readRefreshToken } from './refresh-token.ts';
import { readAccessToken } from './verify-access-token.ts';

/** A token of ours that was sent to be revoked or introspected. */
export type PresentedToken =
  | { kind: 'access_token'; claims: AccessTokenPayload }
  | { kind: 'refresh_token'; content: SessionGeneration }
  | { kind: 'login_app_token'; loginAppId: string };

/** Reads a token of any kind; undefined when it is not a valid token of ours. */
export async function readToken(token: string): Promise<PresentedToken | undefined> {
  if (isLongLived(token)) {
    const loginAppId = await authenticateLoginAppToken(token);
    return loginAppId === undefined ? undefined : { kind: 'login_app_token', loginAppId };
  }
  const content = await readRefreshToken(token);
  if (content) return { kind: 'refresh_token', content };
  const claims = await readAccessToken(token);
  return claims && { kind: 'access_token', claims };
}

/**
 * The session that a token belongs to, if it is one of the Login App, active, its Login User not blocked and its client
 * not revoked. One of another Login App costs no more reads than one that is gone.
 */
export async function activeSessionOf(
  loginAppId: string,
  { loginUserId, sessionId }: Pick<SessionGeneration, 'loginUserId' | 'sessionId'>,
): Promise<Session | undefined> {
  const { user, session } = await readLoginUserWithSession(loginUserId, sessionId);
  if (!user || user.blocked_at || session?.login_app_id !== loginAppId) return undefined;
  if (!isActive(session, await findStatus(loginAppId))) return undefined;
  return (await isCurrentClient(session.client_id)) ? session : undefined;
}

/** The one parameter of revocation and introspection; `token_type_hint` is ignored. @see RFC 7009 section 2.1 */
export const tokenParameter = parameters({ token: required('token') });
