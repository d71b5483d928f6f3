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
  const answer = await presentCredential({ ...callFor(settings, token), signal });
  if (answer.status !== 200) failForOurApp(settings, answer, url);
  requireVerdict(settings, answer);
  const { body } = answer;
  requireValid(settings, body);
  rejectOtherApps(body, audience_field, audiences, url);
  rejectExpired(body, url);
  return subject_field ? requiredSubject(body, url, subject_field, subjectType) : undefined;
}

/** The address, headers and body of the call. */
function callFor(settings: ValidationBy<'token_info'>, token: string) {
  const { token_parameter, app_token_parameter, app_token_secret } = settings;
  const { client_id, client_secret } = settings;
  const url = new URL(settings.url);
  if (app_token_parameter && app_token_secret)
    url.searchParams.set(app_token_parameter, app_token_secret);
  const hasClient = client_id && client_secret;
  const headers = hasClient ? { authorization: basicAuthorization(client_id, client_secret) } : {};
  switch (settings.send_token_as) {
    case 'json':
      return { url: url.href, headers, json: { [token_parameter]: token } };
    case 'bearer':
      return { url: url.href, headers: { authorization: `Bearer ${token}` } };
    case 'query':
      url.searchParams.set(token_parameter, token);
      return { url: url.href, headers };
  }
}

/**
 * Throws unless the answer is about the token, which the provider knows.
 * @throws ServiceError, ProviderFailure
 */
function requireVerdict(
  settings: ValidationBy<'token_info'>,
  { status, body }: ProviderAnswer,
): void {
  const { url, app_token_secret, client_secret } = settings;
  const hasAppCredential = app_token_secret !== undefined || client_secret !== undefined;

  // 1. The provider rejects the token.
  const usualStatuses = hasAppCredential ? [] : [400, 401];
  const refusedStatuses = settings.refused_statuses ?? usualStatuses;
  const error = String(valueAtPath(body, settings.error_field));
  if (refusedStatuses.includes(status) || settings.refused_errors.includes(error))
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

/** Rejects a token that the provider knows, but calls invalid. */
function requireValid({ url, valid_field }: ValidationBy<'token_info'>, body: unknown): void {
  if (!valid_field) return;
  const isValid = valueAtPath(body, valid_field);
  if (typeof isValid !== 'boolean')
    throw new ProviderFailure('unexpected_answer', url, `no ${valid_field}`);
  if (!isValid) throw rejected('token_invalid');
}
