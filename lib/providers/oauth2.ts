import { epochSeconds } from '../clock.ts';
import { basicAuthorization, callProvider, verificationDeadline } from './call-provider.ts';
import { ProviderFailure } from './provider-failure.ts';
import { plausible, rejected } from './rejected.ts';
import type { CodeExchange, IntrospectionCheck, OAuth2Settings, TokenInfoCheck } from './settings.ts';
import { fieldAt, subjectAt } from './subject.ts';

/** Who holds an OAuth 2.0 access token that was issued to our app. @throws Refusal, ProviderFailure */
export function verifyOAuth2(settings: OAuth2Settings, accessToken: string): Promise<string> {
  return subjectOf(settings, plausible(accessToken), verificationDeadline());
}

/** Who holds an authorization code, exchanged at the provider. @see RFC 6749 section 4.1.3 */
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

async function userInfo({ user_info }: OAuth2Settings, token: string, signal: AbortSignal): Promise<string> {
  const { url, subject_field, subject_type } = user_info;
  const { status, body } = await callProvider({ url, headers: { authorization: `Bearer ${token}` }, signal });
  if ([400, 401, 403].includes(status)) throw rejected('user_info_refused');
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status));
  const subject = subjectAt(body, subject_field, subject_type);
  if (!subject) throw new ProviderFailure('unexpected_answer', url, `no usable ${subject_field}`);
  return subject;
}

/** The person whom the app check tells of, where it does. */
function appCheck(settings: OAuth2Settings, token: string, signal: AbortSignal): Promise<string | undefined> {
  const { app_check, user_info } = settings;
  if (app_check.method === 'token_info')
    return checkTokenInfo(app_check, token, signal, user_info.subject_type);
  return introspect(app_check, token, signal, user_info.subject_field === 'sub');
}

/** @see RFC 7662 section 2 */
async function introspect(
  { url, client_id, client_secret, audiences }: IntrospectionCheck,
  token: string,
  signal: AbortSignal,
  tellsSubject: boolean,
): Promise<string | undefined> {
  const { status, body } = await callProvider({
    url,
    form: { token, token_type_hint: 'access_token' },
    headers: { authorization: basicAuthorization(client_id, client_secret) },
    signal,
  });
  if (status === 401) throw new ProviderFailure('refused_our_credentials', url);
  const active = fieldAt(body, 'active');
  if (status !== 200 || typeof active !== 'boolean')
    throw new ProviderFailure('unexpected_answer', url, String(status));
  if (!active) throw rejected('token_inactive');
  // `client_id` says who got the token, `aud` where it may be used; the second counts only without the first.
  const issuedTo = fieldAt(body, 'client_id') ?? fieldAt(body, 'aud');
  if (!isOneOf(audiences, issuedTo)) throw rejected('issued_to_another_app');
  refuseExpired(fieldAt(body, 'exp'));
  return tellsSubject ? subjectAt(body, 'sub') : undefined;
}

async function checkTokenInfo(
  settings: TokenInfoCheck,
  token: string,
  signal: AbortSignal,
  subjectType: 'string' | 'integer',
): Promise<string | undefined> {
  const { url, valid_field, subject_field } = settings;
  const { status, body } = await callProvider({ ...tokenInfoCall(settings, token), signal });
  const refusedStatuses = settings.refused_statuses ?? (settings.app_token_secret ? [] : [400, 401]);
  if (refusedStatuses.includes(status)) throw rejected('token_info_refused');
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status));
  if (valid_field && fieldAt(body, valid_field) !== true) throw rejected('token_invalid');
  if (!isOneOf(settings.audiences, fieldAt(body, settings.audience_field)))
    throw rejected('issued_to_another_app');
  refuseExpired(fieldAt(body, 'exp'));
  return subject_field ? requiredSubject(body, subject_field, subjectType, url) : undefined;
}

function tokenInfoCall(settings: TokenInfoCheck, token: string) {
  const { token_parameter, app_token_parameter, app_token_secret, client_id, client_secret } = settings;
  const url = new URL(settings.url);
  if (app_token_parameter && app_token_secret) url.searchParams.set(app_token_parameter, app_token_secret);
  const headers =
    client_id && client_secret ? { authorization: basicAuthorization(client_id, client_secret) } : {};
  if (settings.send_token_as === 'json')
    return { url: url.href, headers, json: { [token_parameter]: token } };
  url.searchParams.set(token_parameter, token);
  return { url: url.href, headers };
}

function requiredSubject(body: unknown, path: string, type: 'string' | 'integer', url: string): string {
  const subject = subjectAt(body, path, type);
  if (!subject) throw new ProviderFailure('unexpected_answer', url, `no usable ${path}`);
  return subject;
}

const isOneOf = (audiences: string[], issuedTo: unknown): boolean =>
  [issuedTo].flat().some((app) => typeof app === 'string' && audiences.includes(app));

/** Some providers write numbers as text. */
function refuseExpired(exp: unknown): void {
  if (exp !== undefined && exp !== null && Number(exp) <= epochSeconds()) throw rejected('token_expired');
}

async function exchangeCode(exchange: CodeExchange, code: string, signal: AbortSignal): Promise<string> {
  const { token_url: url, client_id, client_secret, redirect_uri, client_authentication } = exchange;
  const parameters = { grant_type: 'authorization_code', code, redirect_uri };
  const { status, body } = await callProvider({
    url,
    ...(client_authentication === 'basic'
      ? { form: parameters, headers: { authorization: basicAuthorization(client_id, client_secret) } }
      : { form: { ...parameters, client_id, client_secret } }),
    signal,
  });
  const error = fieldAt(body, exchange.error_field);
  if (exchange.refused_errors.includes(String(error))) throw rejected('code_refused');
  if (status === 401 || error === 'invalid_client') throw new ProviderFailure('refused_our_credentials', url);
  const token = fieldAt(body, 'access_token');
  if (status !== 200 || typeof token !== 'string') {
    throw new ProviderFailure('unexpected_answer', url, `${status}, no access token`);
  }
  return plausible(token);
}
