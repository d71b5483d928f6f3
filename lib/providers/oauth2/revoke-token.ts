import { valueAtPath } from '../../schema/value-at-path.ts';
import { callProvider, verificationDeadline } from '../call-provider.ts';
import { clientSecretOf } from '../client-secret.ts';
import { ProviderFailure } from '../provider-failure.ts';
import { authenticated } from './exchange-code.ts';
import type { OAuth2Settings } from './settings.ts';

/**
 * Revokes a refresh token of a provider that the exchange of a code gave us. A token that the provider no longer knows
 * needs no revocation.
 * @throws ProviderFailure when the provider does not confirm it
 * @throws Error when the settings no longer say where
 * @see RFC 7009 section 2.1
 */
export async function revokeProviderToken({ authorization_code: exchange }: OAuth2Settings, token: string) {
  const url = exchange?.revocation_url;
  if (!exchange || url === undefined) throw new Error('The provider settings have no revocation_url.');
  const form = { token, token_type_hint: 'refresh_token' };
  const { status, body } = await callProvider({
    url,
    ...authenticated(exchange, await clientSecretOf(exchange), form),
    statusOnly: true,
    signal: verificationDeadline(),
  });
  const isUnknown =
    status === 400 && exchange.refused_errors.includes(String(valueAtPath(body, exchange.error_field)));
  if (status !== 200 && !isUnknown) throw new ProviderFailure('unexpected_status', url, String(status));
}
