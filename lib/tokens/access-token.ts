import { decodeJwt, type JWTPayload } from 'jose';
import * as v from 'valibot';
import { idForms, refreshTokenForm } from '../foundation/ids.ts';
import { loginClaims } from '../login-users/linked-identity.ts';

const epochSecondsSchema = v.pipe(v.number(), v.safeInteger());

const sharedClaims = {
  iss: v.string(),
  /** The Login App that the token is for. */
  aud: v.string(),
  client_id: v.string(),
  jti: v.string(),
  /** Epoch seconds. */
  iat: epochSecondsSchema,
  exp: epochSecondsSchema,
};

const loginUserClaimsSchema = v.object({
  ...sharedClaims,
  token_use: v.literal('login_user'),
  scope: v.optional(v.literal('login_user'), 'login_user'),
  /** The Login User. */
  sub: v.string(),
  sid: v.string(),
  /** Epoch seconds of the login that began the session; absent from tokens that were issued before there was this claim. */
  auth_time: v.exactOptional(epochSecondsSchema),
  /** The external id of the person, in deployments that put it into tokens. */
  ext_id: v.exactOptional(v.string()),
  ...loginClaims,
});

const loginAppClaimsSchema = v.object({
  ...sharedClaims,
  token_use: v.literal('login_app'),
  scope: v.optional(v.literal('login_app'), 'login_app'),
  /** The client, which here acts for itself. */
  sub: v.string(),
});

/** Claims of a token by which a client reads recipients and reports dead tokens. */
const recipientsClaimsSchema = v.object({
  ...loginAppClaimsSchema.entries,
  token_use: v.literal('recipients'),
  scope: v.literal('recipients'),
});

/** The payload of an access token; its client is one of the Login App that it is for. @see RFC 9068 section 2.2 */
export const accessTokenPayloadSchema = v.pipe(
  v.variant('token_use', [loginUserClaimsSchema, loginAppClaimsSchema, recipientsClaimsSchema]),
  v.check(({ aud, client_id }) => client_id.startsWith(`${aud}.`)),
);
export type AccessTokenPayload = v.InferOutput<typeof accessTokenPayloadSchema>;
export type TokenUse = AccessTokenPayload['token_use'];
export type AccessTokenClaims<Use extends TokenUse> = Extract<AccessTokenPayload, { token_use: Use }>;

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

/** The payload of a JWT, which nobody has verified; undefined for what is none. */
export function payloadOf(token: string): JWTPayload | undefined {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}
