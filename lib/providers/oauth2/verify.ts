import { presentCredential, verificationDeadline } from '../call-provider.ts';
import { ProviderFailure } from '../provider-failure.ts';
import { plausible, rejected } from '../rejected.ts';
import { requiredSubject } from '../subject.ts';
import { exchangeCode } from './exchange-code.ts';
import type { CodeExchange, OAuth2Settings } from './settings.ts';
import { validateAudience } from './validate-audience.ts';

/** The subject of an OAuth 2.0 access token that was issued to our app. @throws Refusal, ProviderFailure */
export function verifyAccessToken(settings: OAuth2Settings, accessToken: string): Promise<string> {
  return subjectOf(settings, plausible(accessToken), verificationDeadline());
}

/** The subject of an authorization code, which is exchanged at the provider. @throws Refusal, ProviderFailure */
export async function verifyAuthorizationCode(
  settings: OAuth2Settings,
  exchange: CodeExchange,
  code: string,
): Promise<string> {
  const signal = verificationDeadline();
  return subjectOf(settings, await exchangeCode(exchange, plausible(code), signal), signal);
}

/**
 * Validates the audience and asks for the user info at the same time. A token of another app is rejected whatever the
 * user info answers, and so is one for which the two name different people.
 */
async function subjectOf(settings: OAuth2Settings, token: string, signal: AbortSignal): Promise<string> {
  const [audience, user] = await Promise.allSettled([
    validateAudience(settings, token, signal),
    userInfo(settings, token, signal),
  ]);
  if (audience.status === 'fulfilled' && user.status === 'fulfilled') {
    if (audience.value !== undefined && audience.value !== user.value) throw rejected('subject_mismatch');
    return user.value;
  }
  const errors = [audience, user]
    .filter((result) => result.status === 'rejected')
    .map(({ reason }) => reason);
  throw errors.find((error) => !(error instanceof ProviderFailure)) ?? errors[0];
}

/** The subject that the user info endpoint returns. @throws Refusal, ProviderFailure */
export async function userInfo(
  { user_info }: OAuth2Settings,
  token: string,
  signal: AbortSignal,
): Promise<string> {
  const { url, subject_field, subject_type } = user_info;
  const { status, body } = await presentCredential({
    url,
    headers: { authorization: `Bearer ${token}` },
    signal,
  });
  if ([400, 401, 403].includes(status)) throw rejected('user_info_refused');
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status));
  return requiredSubject(body, url, subject_field, subject_type);
}
