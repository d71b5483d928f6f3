import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import { presentCredential, verificationDeadline } from '../call-provider.ts';
import { profileIn, rejected, requiredSubject, wellFormedCredential } from '../credential.ts';
import { ProviderFailure } from '../provider-failure.ts';
import type { AccessTokenSettings, UserInfo, UserInfoSettings } from './settings.ts';
import { validateAudience, verifyJwtAccessToken } from './validate-audience.ts';

/**
 * The person of an OAuth 2.0 access token that was issued to our app.
 *
 * Validates the audience and asks for the user info at the same time. A token of another app is rejected whatever the
 * user info answers, and so is one for which the two name different people. A JWT without user info needs no call.
 * @throws ServiceError, ProviderFailure
 */
export async function verifyAccessToken(
  settings: AccessTokenSettings,
  accessToken: string,
  signal: AbortSignal = verificationDeadline(),
): Promise<VerifiedIdentity> {
  const token = wellFormedCredential(accessToken);
  const { namespace, audience_validation, user_info } = settings;
  if (!user_info) return { namespace, subject: await verifyJwtAccessToken(audience_validation, token) };
  const [audience, user] = await Promise.allSettled([
    validateAudience(settings, token, signal),
    userInfo(settings, token, signal),
  ]);
  if (audience.status === 'fulfilled' && user.status === 'fulfilled') {
    if (audience.value !== undefined && audience.value !== user.value.subject)
      throw rejected('subject_mismatch');
    return personOf(settings, user.value);
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
export async function personOfOwnToken(settings: UserInfoSettings, accessToken: string, signal: AbortSignal) {
  return personOf(settings, await userInfo(settings, wellFormedCredential(accessToken), signal));
}

/** Whom an answer of the user info endpoint is about. */
const personOf = ({ namespace, user_info }: UserInfoSettings, { subject, answer }: UserInfoAnswer) => ({
  namespace,
  subject,
  profile: profileIn(answer, user_info.profile),
});

interface UserInfoAnswer {
  subject: string;
  answer: unknown;
}

/** The answer of the user info endpoint, and the subject that it names. @throws ServiceError, ProviderFailure */
export async function userInfo(
  { user_info }: { user_info: UserInfo },
  token: string,
  signal: AbortSignal,
): Promise<UserInfoAnswer> {
  const { url, subject_field, subject_type } = user_info;
  const { status, body } = await presentCredential({
    url,
    headers: { authorization: `Bearer ${token}` },
    signal,
  });
  if ([400, 401, 403].includes(status)) throw rejected('user_info_refused');
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status));
  return { subject: requiredSubject(body, url, subject_field, subject_type), answer: body };
}
