import { authenticateLoginAppToken, isLongLived } from '../login-apps/login-app-tokens.ts';
import type { SessionGeneration } from '../people/sessions/session.ts';
import { required } from '../schema/form-parameters.ts';
import { type AccessTokenPayload, readAccessToken } from './access-token.ts';
import { readRefreshToken } from './refresh-token.ts';

/**
 * The parameter of revocation and introspection; `token_type_hint` is ignored.
 * @see RFC 7009 section 2.1
 */
export const tokenParameter = { token: required('token') };

export type PresentedToken =
  | { kind: 'access_token'; claims: AccessTokenPayload }
  | { kind: 'refresh_token'; content: SessionGeneration }
  | { kind: 'login_app_token'; loginAppId: string };

/** Reads a token of any kind; undefined if it is not valid. */
export async function readToken(token: string): Promise<PresentedToken | undefined> {
  if (isLongLived(token)) {
    const loginAppId = await authenticateLoginAppToken(token);
    return loginAppId === undefined ? undefined : { kind: 'login_app_token', loginAppId };
  }
  const content = await readRefreshToken(token);
  if (content) return { kind: 'refresh_token', content };
  const { claims } = await readAccessToken(token);
  return claims && { kind: 'access_token', claims };
}
