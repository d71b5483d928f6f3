import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import { presentCredential } from '../call-provider.ts';
import { profileIn, rejected, requiredSubject, wellFormedCredential } from '../credential.ts';
import { ProviderFailure } from '../provider-failure.ts';
import type { OAuth2Settings, UserInfo } from './settings.ts';
import { validateAudience, verifyJwtAccessToken } from './validate-audience.ts';

/**
 * The person of an OAuth 2.0 access token that was issued to our app; undefined if the provider only takes codes.
 *
 * Validates the audience and asks for the user info at the same time. A token of another app is rejected whatever the
 * user info answers, and so is one for which the two name different people. A JWT without user info needs no call.
 * @throws ServiceError, ProviderFailure
 */
export async function verifyAccessToken(
  { namespace, user_info, audience_validation }: OAuth2Settings,
  accessToken: string,
  signal: AbortSignal,
): Promise<VerifiedIdentity | undefined> {
  if (namespace === undefined || !audience_validation) return undefined;
  const token = wellFormedCredential(accessToken);
  if (!user_info) {
    // Only a JWT says by itself whose it is.
    if (audience_validation.method !== 'jwt') return undefined;
    return { namespace, subject: await verifyJwtAccessToken(audience_validation, token) };
  }
  const [audience, user] = await Promise.allSettled([
    validateAudience(audience_validation, token, signal, user_info),
    askUserInfo(user_info, token, signal),
  ]);
  if (audience.status === 'fulfilled' && user.status === 'fulfilled') {
    const { subject, answer } = user.value;
    if (audience.value !== undefined && audience.value !== subject) throw rejected('subject_mismatch');
    return { namespace, subject, profile: profileIn(answer, user_info.profile) };
  }
  const errors = [audience, user]
    .filter((result) => result.status === 'rejected')
    .map(({ reason }) => reason);
  throw errors.find((error) => !(error instanceof ProviderFailure)) ?? errors[0];
}

/**
 * The person of an access token that the provider has just given us for a code: it does so only for a code that was
 * issued to our app. Never for a token that a caller sent.
 * @throws ServiceError, ProviderFailure
 * @see RFC 6749, section 4.1.3
 */
export async function verifyOwnToken(
  { namespace, user_info }: OAuth2Settings,
  accessToken: string,
  signal: AbortSignal,
): Promise<VerifiedIdentity | undefined> {
  if (namespace === undefined || !user_info) return undefined;
  const { subject, answer } = await askUserInfo(user_info, wellFormedCredential(accessToken), signal);
  return { namespace, subject, profile: profileIn(answer, user_info.profile) };
}

/** The answer of the user info endpoint, and the subject that it names. @throws ServiceError, ProviderFailure */
export async function askUserInfo(
  { url, subject_field, subject_type }: UserInfo,
  token: string,
  signal: AbortSignal,
) {
  const headers = { authorization: `Bearer ${token}` };
  const { status, body } = await presentCredential({ url, headers, signal });
  if ([400, 401, 403].includes(status)) throw rejected('user_info_refused');
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status));
  return { subject: requiredSubject(body, url, subject_field, subject_type), answer: body };
}
