import { failForOurApp } from '../calls/app-errors.ts';
import {
  basicAuthorization,
  type ProviderAnswer,
  presentCredential,
} from '../calls/call-provider.ts';
import { rejected, requiredSubject } from '../calls/credential.ts';
import { ProviderFailure } from '../calls/provider-failure.ts';
import { valueAtPath } from '../settings/fields.ts';
import type { ValidationBy } from './settings.ts';
import { rejectExpired, rejectOtherApps } from './token-metadata.ts';

/**
 * Asks the provider, at an endpoint of its own, which app an access token was issued to.
 * @returns the person's id, if the settings say where the answer has it
 * @throws ServiceError for a token that is not valid, or of another app; ProviderFailure
 */
export async function askTokenInfo(
  settings: ValidationBy<'token_info'>,
  token: string,
  signal: AbortSignal,
  subjectType: 'string' | 'integer' | undefined,
): Promise<string | undefined> {
  const { url, subject_field, audience_field, audiences } = settings;

  // 1. The provider knows the token.
  const answer = await presentCredential({ ...callFor(settings, token), signal });
  const { status, body } = answer;
  if (status !== 200) failForOurApp(settings, answer, url);
  requireVerdict(settings, answer);

  // 2. The token is valid, and was issued to our app.
  requireValid(settings, body);
  rejectOtherApps(body, audience_field, audiences, url);
  rejectExpired(body, url);

  // 3. The answer may say whose it is.
  return subject_field ? requiredSubject(body, url, subject_field, subjectType) : undefined;
}

/** The address, headers and body of the call. */
function callFor(settings: ValidationBy<'token_info'>, token: string) {
  const { token_parameter, app_token_parameter, app_token_secret } = settings;
  const address = new URL(settings.url);
  if (app_token_parameter && app_token_secret)
    address.searchParams.set(app_token_parameter, app_token_secret);

  switch (settings.send_token_as) {
    case 'json': {
      const json = { [token_parameter]: token };
      return { url: address.href, headers: headersOf(settings), json };
    }
    case 'bearer':
      return { url: address.href, headers: { authorization: `Bearer ${token}` } };
    case 'query':
      address.searchParams.set(token_parameter, token);
      return { url: address.href, headers: headersOf(settings) };
  }
}

/** The headers with our app's credentials, if the settings have them. */
function headersOf({
  client_id,
  client_secret,
}: ValidationBy<'token_info'>): Record<string, string> {
  if (!client_id || !client_secret) return {};
  return { authorization: basicAuthorization(client_id, client_secret) };
}

/**
 * Throws unless the answer is about the token, which the provider knows.
 * @throws ServiceError, ProviderFailure
 */
function requireVerdict(
  settings: ValidationBy<'token_info'>,
  { status, body }: ProviderAnswer,
): void {
  const { url, app_token_secret, client_secret, error_field, refused_errors } = settings;
  const hasAppCredential = app_token_secret !== undefined || client_secret !== undefined;

  // 1. The provider rejects the token.
  const usualStatuses = hasAppCredential ? [] : [400, 401];
  const refusedStatuses = settings.refused_statuses ?? usualStatuses;
  const error = String(valueAtPath(body, error_field));
  if (refusedStatuses.includes(status) || refused_errors.includes(error))
    throw rejected('token_info_refused');

  // 2. It rejects our app.
  if (hasAppCredential && [401, 403].includes(status))
    throw new ProviderFailure('refused_our_credentials', url, String(status));
  // It may be the token that the provider finds malformed.
  if (hasAppCredential && status === 400)
    throw new ProviderFailure('refused_our_credentials', url, String(status), status);

  // 3. It says nothing.
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status), status);
}

/**
 * Throws for a token that the provider knows, but calls invalid.
 * @throws ServiceError, ProviderFailure
 */
function requireValid({ url, valid_field }: ValidationBy<'token_info'>, body: unknown): void {
  if (!valid_field) return;
  const isValid = valueAtPath(body, valid_field);
  if (typeof isValid !== 'boolean')
    throw new ProviderFailure('unexpected_answer', url, `no ${valid_field}`);
  if (!isValid) throw rejected('token_invalid');
}
