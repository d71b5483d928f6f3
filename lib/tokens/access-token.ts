import { decodeJwt, errors, type JWTHeaderParameters, type JWTPayload, jwtVerify } from 'jose';
import * as v from 'valibot';
import { clock } from '../foundation/clock.ts';
import { definedOnly } from '../foundation/defined-only.ts';
import { idForms } from '../foundation/ids.ts';
import type { LogReason } from '../foundation/reasons.ts';
import { isLongLived } from '../login-apps/login-app-tokens.ts';
import { loginClaimsSchema } from '../login-users/linked-identity.ts';
import { publicKey } from '../signing/published-keys.ts';
import { tokenAlgorithms } from '../signing/settings.ts';
import { issuer } from './issuer.ts';
import { refreshTokenForm } from './refresh-token-form.ts';

const epochSecondsSchema = v.pipe(v.number(), v.safeInteger());

/**
 * The claims that all tokens have. The scope repeats the use; tokens of earlier versions have none.
 */
const claimsFor = <const Use extends string>(use: Use) => ({
  token_use: v.literal(use),
  scope: v.optional(v.literal(use), use),
  iss: v.string(),
  aud: v.string(),
  /** The Login User, or the client itself. */
  sub: v.string(),
  client_id: v.string(),
  jti: v.string(),
  iat: epochSecondsSchema,
  exp: epochSecondsSchema,
});

const loginUserClaimsSchema = v.object({
  ...claimsFor('login_user'),
  sid: v.string(),
  /** Epoch seconds of the login; absent from tokens of earlier versions. */
  auth_time: v.exactOptional(epochSecondsSchema),
  /** The person's external id, if the deployment puts it into tokens. */
  ext_id: v.exactOptional(v.string()),
  /** `true` for a guest. In a person's token, it is a claim of the login hook, which may be any. */
  guest: v.exactOptional(v.unknown()),
  /** The Login User into whom a guest was merged. */
  merged_into: v.exactOptional(v.unknown()),
  ...loginClaimsSchema.entries,
});
const loginAppClaimsSchema = v.object(claimsFor('login_app'));
const recipientsClaimsSchema = v.object({
  ...claimsFor('recipients'),
  scope: v.literal('recipients'),
});

/**
 * The payload of an access token.
 * @see RFC 9068 section 2.2
 */
const accessTokenPayloadSchema = v.pipe(
  v.variant('token_use', [loginUserClaimsSchema, loginAppClaimsSchema, recipientsClaimsSchema]),
  v.check(({ aud, client_id }) => client_id.startsWith(`${aud}.`)),
);
export type AccessTokenPayload = v.InferOutput<typeof accessTokenPayloadSchema>;
export type TokenUse = AccessTokenPayload['token_use'];
export type AccessTokenClaims<Use extends TokenUse> = Extract<
  AccessTokenPayload,
  { token_use: Use }
>;

/**
 * The claims of an access token, or why it is not accepted.
 * @see RFC 9068 section 4
 */
export async function readAccessToken(
  token: string,
): Promise<{ claims?: AccessTokenPayload; reason?: LogReason }> {
  try {
    const { payload } = await jwtVerify(token, verificationKey, {
      algorithms: [...tokenAlgorithms],
      typ: 'at+jwt',
      issuer: issuer(),
      currentDate: clock.now(),
    });
    const claims = v.safeParse(accessTokenPayloadSchema, payload);
    return claims.success ? { claims: claims.output } : { reason: 'claim_invalid' };
  } catch (error) {
    if (error instanceof errors.JOSEError) return { reason: rejectionReason(token, error) };
    throw error;
  }
}

/** The log's reason for a valid token of another use than the one that is wanted. */
const reasonsOfUse = {
  login_user: 'login_user_token_sent',
  login_app: 'login_app_token_sent',
  recipients: 'recipients_token_sent',
} satisfies Record<TokenUse, LogReason>;

/** The claims of an access token for a use, or why it is not accepted. */
export async function readAccessTokenFor<Use extends TokenUse>(
  use: Use,
  token: string,
): Promise<{ claims?: AccessTokenClaims<Use>; reason?: LogReason }> {
  const { claims, reason } = await readAccessToken(token);
  if (!claims) return definedOnly({ reason });
  return isFor(use, claims) ? { claims } : { reason: reasonsOfUse[claims.token_use] };
}

const isFor = <Use extends TokenUse>(
  use: Use,
  claims: AccessTokenPayload,
): claims is AccessTokenClaims<Use> => claims.token_use === use;

/** The log's reason why a text is no valid access token. */
function rejectionReason(token: string, error: errors.JOSEError): LogReason {
  if (refreshTokenForm.test(token)) return 'refresh_token_sent';
  if (isLongLived(token)) return 'login_app_token_sent';
  if (error instanceof errors.JWTExpired) return 'token_expired';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'signature_invalid';
  if (!(error instanceof errors.JWKSNoMatchingKey)) return 'not_an_access_token';
  // Unverified claims say more about a key that is unknown here.
  const isOurs = payloadOf(token)?.iss === issuer();
  return isOurs ? 'unknown_key' : 'issued_by_another_issuer';
}

/**
 * The key decides on the algorithm, never the token alone.
 * @see RFC 8725 section 3.1
 */
async function verificationKey({ kid, alg }: JWTHeaderParameters) {
  const found = kid === undefined ? undefined : await publicKey(kid);
  if (found?.alg !== alg) throw new errors.JWKSNoMatchingKey();
  return found;
}

const sessionClaimsSchema = v.object({
  sub: v.pipe(v.string(), v.regex(idForms['lu_…'])),
  sid: v.pipe(v.string(), v.regex(idForms['s_…'])),
});

/**
 * The session that a Login User Token or a refresh token names, unverified; undefined for any other
 * text.
 */
export function sessionNamedBy(
  token: string,
): { loginUserId: string; sessionId: string } | undefined {
  const [, , loginUserId, sessionId] = refreshTokenForm.exec(token) ?? [];
  if (loginUserId && sessionId) return { loginUserId, sessionId };
  const { success, output } = v.safeParse(sessionClaimsSchema, payloadOf(token));
  return success ? { loginUserId: output.sub, sessionId: output.sid } : undefined;
}

/** The unverified payload of a JWT; undefined for any other text. */
export function payloadOf(token: string): JWTPayload | undefined {
  try {
    return decodeJwt(token);
  } catch {
    return undefined;
  }
}
