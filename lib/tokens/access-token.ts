import * as v from 'valibot';

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
});

const loginAppClaimsSchema = v.object({
  ...sharedClaims,
  token_use: v.literal('login_app'),
  scope: v.optional(v.literal('login_app'), 'login_app'),
  /** The client, which here acts for itself. */
  sub: v.string(),
});

/** The payload of an access token; its client is one of the Login App that it is for. @see RFC 9068 section 2.2 */
export const accessTokenPayloadSchema = v.pipe(
  v.variant('token_use', [loginUserClaimsSchema, loginAppClaimsSchema]),
  v.check(({ aud, client_id }) => client_id.startsWith(`${aud}.`)),
);
export type AccessTokenPayload = v.InferOutput<typeof accessTokenPayloadSchema>;
export type TokenUse = AccessTokenPayload['token_use'];
export type AccessTokenClaims<Use extends TokenUse> = Extract<AccessTokenPayload, { token_use: Use }>;
