import { createHmac } from 'node:crypto';
import { errors } from 'jose';
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
  const { url, subject_field, subject_type, profile } = userInfo;
  const accept = userInfo.signature ? signedUserInfo : 'application/json';
  const headers = { authorization: `Bearer ${token}`, accept };
  const answer = await presentCredential({ url: withProof(userInfo, token), headers, signal });
  const { status } = answer;
  if (status !== 200) failForOurApp(userInfo, answer, url);
  if ([400, 401, 403].includes(status)) throw rejected('user_info_refused');
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status), status);
  const claims = await userInfoClaims(userInfo, answer);
  const subject = requiredSubject(claims, url, subject_field, subject_type);
  return { subject, profile: profileIn(claims, profile) };
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
async function userInfoClaims(
  { url, signature }: UserInfo,
  { type, body }: ProviderAnswer,
): Promise<unknown> {
  const isSigned = type === signedUserInfo && typeof body === 'string';
  if (signature === undefined) {
    if (!isSigned) return body;
    const detail = `${signedUserInfo}: the settings need user_info.signature`;
    throw new ProviderFailure('unexpected_answer', url, detail);
  }
  if (!isSigned) throw new ProviderFailure('unexpected_answer', url, `no ${signedUserInfo}`);
  try {
    const kind = { types: ['jwt', 'userinfo+jwt'], claims: ['iss', 'aud', 'sub'] };
    const { payload } = await verifiedJwt(signature, body, kind);
    return payload;
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    throw new ProviderFailure('unexpected_answer', url, `user info: ${reasonOf(error)}`);
  }
}

const signedUserInfo = 'application/jwt';
