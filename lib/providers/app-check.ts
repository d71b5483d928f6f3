import { epochSeconds } from '../clock.ts';
import { basicAuthorization, callProvider } from './call-provider.ts';
import { ProviderFailure } from './provider-failure.ts';
import { rejected } from './rejected.ts';
import type { IntrospectionCheck, OAuth2Settings, TokenInfoCheck } from './settings.ts';
import { fieldAt, requiredSubject, subjectAt } from './subject.ts';

/** The person whom the app check tells of, where it does. */
export function appCheck(
  settings: OAuth2Settings,
  token: string,
  signal: AbortSignal,
): Promise<string | undefined> {
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
  return subject_field ? requiredSubject(body, url, subject_field, subjectType) : undefined;
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

const isOneOf = (audiences: string[], issuedTo: unknown): boolean =>
  [issuedTo].flat().some((app) => typeof app === 'string' && audiences.includes(app));

/** Some providers write numbers as text. */
function refuseExpired(exp: unknown): void {
  if (exp !== undefined && exp !== null && Number(exp) <= epochSeconds()) throw rejected('token_expired');
}
