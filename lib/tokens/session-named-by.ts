import { decodeJwt } from 'jose';
import * as v from 'valibot';
import { idForms, refreshTokenForm } from '../foundation/ids.ts';

const sessionClaimsSchema = v.object({
  sub: v.pipe(v.string(), v.regex(idForms['lu_…'])),
  sid: v.pipe(v.string(), v.regex(idForms['s_…'])),
});

/**
 * The session that an access token of a Login User or a refresh token names, even if the token has expired. It is not
 * verified, so this is for an operator who looks for a session, and lets nobody in. Undefined for any other text.
 */
export function sessionNamedBy(token: string): { loginUserId: string; sessionId: string } | undefined {
  const [, , loginUserId, sessionId] = token.match(refreshTokenForm) ?? [];
  if (loginUserId && sessionId) return { loginUserId, sessionId };
  const claims = v.safeParse(sessionClaimsSchema, payloadOf(token));
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
