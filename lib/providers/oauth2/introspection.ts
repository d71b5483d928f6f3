import { presentCredential } from '../calls/call-provider.ts';
import { authTimeIn, rejected, requiredSubject } from '../calls/credential.ts';
import { ProviderFailure } from '../calls/provider-failure.ts';
import { authenticated } from '../codes/client-secret.ts';
import { valueAtPath } from '../settings/fields.ts';
import type { ValidationBy } from './settings.ts';
import { rejectExpired, rejectOtherApps, type ToldByToken } from './token-metadata.ts';

/**
 * Asks the provider for the metadata of an access token.
 * @throws ServiceError for a token that is not valid, or of another app; ProviderFailure
 * @see RFC 7662 section 2
 */
export async function introspect(
  settings: ValidationBy<'introspection'>,
  token: string,
  signal: AbortSignal,
  isComparable: boolean,
): Promise<ToldByToken> {
  const { url, client_secret, audiences } = settings;
  const form = { token, token_type_hint: 'access_token' };
  const call = authenticated(settings, client_secret, form);
  const { status, body } = await presentCredential({ url, ...call, signal });

  // They are about our own credentials, whatever the token. @see RFC 7662, section 2.3
  if ([401, 403].includes(status))
    throw new ProviderFailure('refused_our_credentials', url, String(status));
  const active = valueAtPath(body, 'active');
  if (status !== 200 || typeof active !== 'boolean')
    throw new ProviderFailure('unexpected_answer', url, String(status), status);
  if (!active) throw rejected('token_inactive');

  // `client_id` names the app that got the token; without it, `aud` does.
  const clientId = valueAtPath(body, 'client_id') ?? undefined;
  const field = clientId === undefined ? 'aud' : 'client_id';
  rejectOtherApps(body, field, audiences, url);
  rejectExpired(body, url);

  const sub = valueAtPath(body, 'sub') ?? null;
  const subject = isComparable && sub !== null ? requiredSubject(body, url, 'sub') : undefined;
  // @see RFC 9470, section 6.2
  return { subject, auth_time: authTimeIn(body) };
}
