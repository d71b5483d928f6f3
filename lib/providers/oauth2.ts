import { appCheck } from './app-check.ts';
import { basicAuthorization, presentCredential, verificationDeadline } from './call-provider.ts';
import { ProviderFailure } from './provider-failure.ts';
import { plausible, rejected } from './rejected.ts';
import type { CodeExchange, OAuth2Settings } from './settings.ts';
import { fieldAt, requiredSubject } from './subject.ts';

/** Who holds an OAuth 2.0 access token that was issued to our app. @throws Refusal, ProviderFailure */
export function verifyOAuth2(settings: OAuth2Settings, accessToken: string): Promise<string> {
  return subjectOf(settings, plausible(accessToken), verificationDeadline());
}

/** Who holds an authorization code, exchanged at the provider. @throws Refusal, ProviderFailure */
export async function verifyOAuth2Code(
  settings: OAuth2Settings,
  exchange: CodeExchange,
  code: string,
): Promise<string> {
  const signal = verificationDeadline();
  return subjectOf(settings, await exchangeCode(exchange, plausible(code), signal), signal);
}

/** The app check and the user info, side by side: a token of another app is refused whatever the user info says. */
async function subjectOf(settings: OAuth2Settings, token: string, signal: AbortSignal): Promise<string> {
  const results = await Promise.allSettled([
    appCheck(settings, token, signal),
    userInfo(settings, token, signal),
  ]);
  const refusals = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
  const verdict = refusals.find((reason) => !(reason instanceof ProviderFailure)) ?? refusals[0];
  if (verdict) throw verdict;
  const [checked, shown] = results.map((result) =>
    result.status === 'fulfilled' ? result.value : undefined,
  );
  if (!shown || (checked && checked !== shown)) {
    throw new ProviderFailure(
      'unexpected_answer',
      settings.user_info.url,
      'the app check tells of another person',
    );
  }
  return shown;
}

/** The person whom the user info tells of. @throws Refusal, ProviderFailure */
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

/** The access token for an authorization code. @see RFC 6749 section 4.1.3 */
export async function exchangeCode(
  exchange: CodeExchange,
  code: string,
  signal: AbortSignal,
): Promise<string> {
  const { token_url: url, client_id, client_secret, redirect_uri, client_authentication } = exchange;
  const parameters = { grant_type: 'authorization_code', code, redirect_uri };
  const { status, body } = await presentCredential({
    url,
    ...(client_authentication === 'basic'
      ? { form: parameters, headers: { authorization: basicAuthorization(client_id, client_secret) } }
      : { form: { ...parameters, client_id, client_secret } }),
    signal,
  });
  const error = fieldAt(body, exchange.error_field);
  if (exchange.refused_errors.includes(String(error))) throw rejected('code_refused');
  const told = [String(status), ...errorCode(error)].join(', ');
  if (status === 401 || error === 'invalid_client')
    throw new ProviderFailure('refused_our_credentials', url, told);
  const token = fieldAt(body, 'access_token');
  if (status !== 200 || typeof token !== 'string')
    throw new ProviderFailure('unexpected_answer', url, `${told}, no access token`);
  return plausible(token);
}

/** An error code, if it looks like one: it goes into the log. */
const errorCode = (error: unknown): string[] =>
  /^[\w.-]{1,64}$/.test(String(error ?? '')) ? [String(error)] : [];
