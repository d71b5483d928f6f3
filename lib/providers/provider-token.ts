import * as v from 'valibot';
import type { ProviderToken } from '../login-users/linked-identity.ts';
import { revocationSchema } from './codes/settings.ts';
import { logRevocation, revokeProviderToken } from './codes/token-endpoint.ts';
import type { ProviderId } from './provider-ids.ts';
import { decryptSecrets } from './settings/encryption.ts';
import { findProviderSettings, notSetUp } from './settings/stored.ts';
import { settingsOf } from './stored/settings-of.ts';

/** The settings that name the revocation endpoint. */
export interface TokenPlace {
  loginAppId: string;
  provider: ProviderId;
}

/**
 * Revokes a provider's refresh token, by the settings as they are now. A failure is logged.
 * @param login_user_id the person whose token it is, if that is known
 */
export const revokeToken = (
  place: TokenPlace,
  token: ProviderToken,
  { login_user_id, signal }: { login_user_id?: string; signal?: AbortSignal | undefined } = {},
): Promise<boolean> => logRevocation(revoke(place, token, signal), login_user_id);

async function revoke(
  { loginAppId, provider }: TokenPlace,
  { text, issuer }: ProviderToken,
  signal: AbortSignal | undefined,
): Promise<void> {
  const settings = await findProviderSettings(loginAppId, provider);
  if (!settings) throw notSetUp(provider);
  const decrypted = await decryptSecrets(settings.settings, settings.place);
  const exchange = v.parse(
    v.optional(revocationSchema),
    settingsOf(provider).exchange(decrypted, issuer),
  );
  await revokeProviderToken(exchange, text, signal);
}
