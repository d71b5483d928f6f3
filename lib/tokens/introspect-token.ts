import * as v from 'valibot';
import type { AuthenticatedClient } from '../login-apps/authenticate-client.ts';
import { standing } from '../sessions/session.ts';
import { issuer } from './issuer.ts';
import { activeSessionOf, readToken } from './presented-token.ts';

/** What a resource server is told of a token; of one that is not active, nothing else. @see RFC 7662 section 2.2 */
export const introspection = v.variant('active', [
  v.object({ active: v.literal(false) }),
  v.looseObject({ active: v.literal(true) }),
]);
type Introspection = v.InferOutput<typeof introspection>;

const inactive: Introspection = { active: false };

/** Tells a client of a token that was issued for its own Login App. */
export async function introspectToken(
  { loginApp }: AuthenticatedClient,
  token: string,
): Promise<Introspection> {
  const presented = await readToken(token);
  if (!presented) return inactive;
  if (presented.kind === 'login_app_token') {
    if (presented.loginAppId !== loginApp.login_app_id) return inactive;
    return {
      active: true,
      token_type: 'bearer',
      token_use: 'login_app',
      iss: issuer(),
      aud: loginApp.login_app_id,
    };
  }
  if (presented.kind === 'access_token') {
    const { claims } = presented;
    if (claims.aud !== loginApp.login_app_id) return inactive;
    if (claims.token_use === 'login_app' && !loginApp.clients.has(claims.client_id)) return inactive;
    if (claims.token_use === 'login_user' && !(await activeSessionOf(claims.sub, claims.sid)))
      return inactive;
    return { active: true, token_type: 'bearer', ...claims };
  }
  const { loginUserId, sessionId, generation } = presented.content;
  const session = await activeSessionOf(loginUserId, sessionId);
  if (session?.login_app_id !== loginApp.login_app_id || standing(session, generation) === 'outdated')
    return inactive;
  return {
    active: true,
    token_type: 'refresh_token',
    iss: issuer(),
    aud: session.login_app_id,
    sub: session.login_user_id,
    sid: session.session_id,
    client_id: session.client_id,
    iat: session.refreshed_at ?? session.started_at,
    exp: session.expires_at,
  };
}
