import { errors, jwtVerify, SignJWT } from 'jose';
import * as v from 'valibot';
import { clock, epochSeconds } from '../clock.ts';
import { environment, environmentSeconds } from '../environment.ts';
import { Refusal } from '../refusal.ts';
import { newId } from '../secrets.ts';
import { publicKey } from './public-keys.ts';
import { currentSigningKey } from './signing-key.ts';

/** Seconds that an access token is valid. @default 3600 */
export const accessTokenLifetime = (): number => environmentSeconds('ACCESS_TOKEN_SECONDS', 3600);

/** The service's own base address, which is the `iss` of its tokens. */
const issuer = (): string => environment('ISSUER');

const sharedClaims = {
  /** The Login App that the token is for. */
  aud: v.string(),
  client_id: v.string(),
  jti: v.string(),
};

/** What an access token says, by its use, besides `iss`, `iat` and `exp`. @see RFC 9068 section 2.2 */
const claimsByUse = {
  login_user: v.object({
    ...sharedClaims,
    token_use: v.literal('login_user'),
    /** The Login User. */
    sub: v.string(),
    /** The session. */
    sid: v.string(),
  }),
  login_app: v.object({
    ...sharedClaims,
    token_use: v.literal('login_app'),
    /** The client, which here acts for itself. */
    sub: v.string(),
  }),
};
export type TokenUse = keyof typeof claimsByUse;
export type AccessTokenClaims<Use extends TokenUse> = v.InferOutput<(typeof claimsByUse)[Use]>;

/** A signed access token: a JWT of type `at+jwt`, ES256. @see RFC 9068 */
export async function issueAccessToken<Use extends TokenUse>(
  claims: Omit<AccessTokenClaims<Use>, 'jti'>,
): Promise<string> {
  const { kid, key } = await currentSigningKey();
  const issuedAt = epochSeconds();
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid })
    .setIssuer(issuer())
    .setJti(newId('at'))
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + accessTokenLifetime())
    .sign(key);
}

/**
 * The claims of one of our own access tokens, of the use that is asked for.
 * @throws Refusal `invalid_token`, whatever is wrong with it
 * @see RFC 9068 section 4
 */
export async function verifyAccessToken<Use extends TokenUse>(
  token: string,
  use: Use,
): Promise<AccessTokenClaims<Use>> {
  const payload = await verifiedPayload(token);
  if (payload === undefined || payload.token_use !== use) {
    throw new Refusal('invalid_token', `The token is not a valid ${tokenNames[use]}.`);
  }
  return v.parse<v.GenericSchema<unknown, AccessTokenClaims<Use>>>(claimsByUse[use], payload);
}

const tokenNames: Record<TokenUse, string> = {
  login_user: 'Login User Token',
  login_app: 'Login App Token',
};

async function verifiedPayload(token: string): Promise<Record<string, unknown> | undefined> {
  try {
    const { payload } = await jwtVerify(token, async ({ kid }) => keyOf(kid), {
      algorithms: ['ES256'],
      typ: 'at+jwt',
      issuer: issuer(),
      requiredClaims: ['exp', 'iat', 'sub', 'aud'],
      currentDate: clock.now(),
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

async function keyOf(kid: string | undefined) {
  const key = kid === undefined ? undefined : await publicKey(kid);
  if (!key) throw new errors.JWSInvalid('no key of this id');
  return key;
}
