import { decodeJwt } from 'jose';
import * as v from 'valibot';

/** `rt.lu_….s_….GENERATION.KEY_ID.MAC` */
export const refreshTokenForm =
  /^(rt\.(lu_[\w-]{43})\.(s_[\w-]{22})\.(0|[1-9]\d{0,9})\.([\w-]{8}))\.([\w-]{43})$/;

/** Claims of a Login User's access token about its session. */
const sessionClaims = v.object({
  sub: v.pipe(v.string(), v.regex(/^lu_[\w-]{43}$/)),
  sid: v.pipe(v.string(), v.regex(/^s_[\w-]{22}$/)),
});

/**
 * The session that an access token of a Login User or a refresh token names, even if the token has expired. It is not
 * verified, so this is for an operator who looks for a session, and lets nobody in. Undefined for any other text.
 */
export function sessionNamedBy(token: string): { loginUserId: string; sessionId: string } | undefined {
  const [, , loginUserId, sessionId] = token.match(refreshTokenForm) ?? [];
  if (loginUserId && sessionId) return { loginUserId, sessionId };
  const claims = v.safeParse(sessionClaims, payloadOf(token));
  return claims.success ? { loginUserId: claims.output.sub, sessionId: claims.output.sid } : undefined;
}

/** The payload of a JWT; undefined for what is none. */
function payloadOf(token: string): unknown {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}
