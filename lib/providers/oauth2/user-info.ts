import { createHmac } from 'node:crypto';
import { errors, type JWTPayload } from 'jose';
import { failForOurApp } from '../calls/app-errors.ts';
import { type ProviderAnswer, presentCredential } from '../calls/call-provider.ts';
import { profileIn, rejected, requiredSubject } from '../calls/credential.ts';
import { ProviderFailure } from '../calls/provider-failure.ts';
import { reasonOf, verifiedJwt } from '../jwt/verify-jwt.ts';
import type { UserInfo } from './settings.ts';

/**
 * The subject and the profile at the user info endpoint.
 * @throws ServiceError, ProviderFailure
 */
export async function askUserInfo(userInfo: UserInfo, token: string, signal: AbortSignal) {
  const { url, signature, subject_field, subject_type, profile } = userInfo;

  // 1. The provider accepts the token.
  const accept = signature === undefined ? 'application/json' : signedUserInfo;
  const headers = { authorization: `Bearer ${token}`, accept };
  const answer = await presentCredential({ url: withProof(userInfo, token), headers, signal });
  requireAccepted(userInfo, answer);

  // 2. It says whose the token is.
  const claims = await userInfoClaims(userInfo, answer);
  const subject = requiredSubject(claims, url, subject_field, subject_type);
  return { subject, profile: profileIn(claims, profile) };
}

/** @throws ServiceError when the provider rejects the token, ProviderFailure when it says nothing */
function requireAccepted(userInfo: UserInfo, answer: ProviderAnswer): void {
  const { url } = userInfo;
  const { status } = answer;
  if (status === 200) return;
  failForOurApp(userInfo, answer, url);
  if ([400, 401, 403].includes(status)) throw rejected('user_info_refused');
  throw new ProviderFailure('unexpected_status', url, String(status), status);
}

/**
 * The address of the user info, with the proof that the call comes from our app if the settings
 * have a secret for one.
 * @see https://developers.facebook.com/docs/graph-api/securing-requests
 */
function withProof({ url, proof_secret }: UserInfo, token: string): string {
  if (proof_secret === undefined) return url;
  const address = new URL(url);
  const proof = createHmac('sha256', proof_secret).update(token).digest('hex');
  address.searchParams.set('appsecret_proof', proof);
  return address.href;
}

/**
 * The claims of a user info, which is JSON or, for settings with a `signature`, a JWT that the
 * issuer has signed for our app.
 * @throws ServiceError, ProviderFailure
 * @see OpenID Connect Core 1.0, section 5.3.2
 */
async function userInfoClaims(userInfo: UserInfo, answer: ProviderAnswer): Promise<unknown> {
  const { url, signature } = userInfo;
  const { type, body } = answer;
  const isSigned = type === signedUserInfo && typeof body === 'string';
  if (signature !== undefined && isSigned) return signedClaims(signature, body, url);
  if (signature !== undefined)
    throw new ProviderFailure('unexpected_answer', url, `no ${signedUserInfo}`);
  if (isSigned) {
    const detail = `${signedUserInfo}: the settings need user_info.signature`;
    throw new ProviderFailure('unexpected_answer', url, detail);
  }
  return body;
}

/**
 * The claims of a signed user info.
 * @throws ServiceError when it is for another app; ProviderFailure
 */
async function signedClaims(
  signature: NonNullable<UserInfo['signature']>,
  jwt: string,
  url: string,
): Promise<JWTPayload> {
  try {
    const { payload } = await verifiedJwt(signature, jwt, {
      types: ['jwt', 'userinfo+jwt'],
      claims: ['iss', 'aud', 'sub'],
    });
    return payload;
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    throw new ProviderFailure('unexpected_answer', url, `user info: ${reasonOf(error)}`);
  }
}

const signedUserInfo = 'application/jwt';
