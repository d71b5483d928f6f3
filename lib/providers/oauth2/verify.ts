import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import { rejected, wellFormedCredential } from '../calls/credential.ts';
import { ProviderFailure } from '../calls/provider-failure.ts';
import { introspect } from './introspection.ts';
import { verifyJwtAccessToken } from './jwt-access-token.ts';
import type { AudienceValidation, OAuth2Settings, UserInfo } from './settings.ts';
import { askTokenInfo } from './token-info.ts';
import type { ToldByToken } from './token-metadata.ts';
import { askUserInfo } from './user-info.ts';

/**
 * The person of an access token of our app; undefined if settings are for codes alone.
 * @throws ServiceError, ProviderFailure
 */
export async function verifyAccessToken(
  { namespace, user_info, audience_validation }: OAuth2Settings,
  accessToken: string,
  signal: AbortSignal,
): Promise<VerifiedIdentity | undefined> {
  if (namespace === undefined || !audience_validation) return undefined;
  const token = wellFormedCredential(accessToken);

  // Only a JWT says by itself whose it is.
  if (!user_info) {
    if (audience_validation.method !== 'jwt') return undefined;
    const person = await verifyJwtAccessToken(audience_validation, token);
    return { namespace, ...person };
  }

  const [audience, user] = await Promise.allSettled([
    validateAudience(audience_validation, token, signal, user_info),
    askUserInfo(user_info, token, signal),
  ]);
  if (audience.status === 'rejected' || user.status === 'rejected')
    throw weightiestOf([audience, user]);

  const { subject = user.value.subject, auth_time } = audience.value;
  if (subject !== user.value.subject) throw rejected('subject_mismatch');
  return { namespace, ...user.value, auth_time };
}

/** The error that counts of two calls, of which one or both have failed. */
function weightiestOf(results: PromiseSettledResult<unknown>[]): unknown {
  const errors = results
    .filter((result) => result.status === 'rejected')
    .map(({ reason }): unknown => reason);

  // A rejection counts, even if the other call gave no verdict.
  const rejection = errors.find((error) => !(error instanceof ProviderFailure));
  if (rejection !== undefined) return rejection;

  // A failure that no credential causes says more than one that a made-up credential could cause.
  const failures = errors.filter((error) => error instanceof ProviderFailure);
  return failures.find(({ status }) => status === undefined) ?? failures[0];
}

/**
 * Rejects an access token of another app.
 * @see RFC 6749 section 10.16
 */
export async function validateAudience(
  settings: AudienceValidation,
  token: string,
  signal: AbortSignal,
  userInfo: UserInfo | undefined,
): Promise<ToldByToken> {
  const isComparable = userInfo?.subject_field === 'sub';
  switch (settings.method) {
    case 'jwt': {
      const { subject, auth_time } = await verifyJwtAccessToken(settings, token);
      return isComparable ? { subject, auth_time } : { auth_time };
    }
    case 'token_info': {
      const subject = await askTokenInfo(settings, token, signal, userInfo?.subject_type);
      return { subject };
    }
    case 'introspection':
      return introspect(settings, token, signal, isComparable);
  }
}
