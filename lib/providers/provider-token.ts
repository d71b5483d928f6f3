import * as v from 'valibot';
import type { ProviderToken } from '../login-users/linked-identity.ts';
import { refreshTokenSchema } from './codes/settings.ts';
import {
  logRevocation,
  refreshProviderToken,
  revokeProviderToken,
} from './codes/token-endpoint.ts';
import type { ProviderId } from './provider-ids.ts';
import { decryptSecrets } from './settings/encryption.ts';
import { findProviderSettings, notSetUp } from './settings/stored.ts';
import { settingsOf } from './stored/settings-of.ts';

/** The settings that name the token endpoint and the revocation endpoint. */
export interface TokenPlace {
  loginAppId: string;
  provider: ProviderId;
}

/** The outcome of a revocation. `not_revocable`: the provider has no endpoint for it. */
export type RevocationOutcome = 'revoked' | 'not_revoked' | 'not_revocable';

/**
 * Revokes a provider's refresh token, by the settings as they are now. A failure is logged.
 * @param login_user_id the person whose token it is, if that is known
 */
export const revokeToken = (
  place: TokenPlace,
  token: ProviderToken,
  { login_user_id, signal }: { login_user_id?: string; signal?: AbortSignal | undefined } = {},
): Promise<RevocationOutcome> => logRevocation(revoke(place, token, signal), login_user_id);

async function revoke(
  place: TokenPlace,
  { text, issuer, access }: ProviderToken,
  signal: AbortSignal | undefined,
): Promise<RevocationOutcome> {
  const exchange = await findExchange(place, issuer);
  // A token that was kept to be used is forgotten where nobody can revoke it.
  const isRevocable = exchange?.revocation_url !== undefined;
  if (!isRevocable && access !== undefined) return 'not_revocable';
  await revokeProviderToken(exchange, text, signal);
  return 'revoked';
}

/**
 * Gets the next access token for a provider's refresh token, by the settings as they are now.
 * @returns the answer, or `refused` when the provider no longer accepts the refresh token
 * @throws ProviderFailure
 */
export async function refreshToken(place: TokenPlace, { text, issuer }: ProviderToken) {
  const exchange = await findExchange(place, issuer);
  if (!exchange) throw notSetUp(place.provider);
  return refreshProviderToken(exchange, text);
}

/**
 * The part of a provider's settings about its refresh tokens, decrypted; undefined for none.
 * @param issuer the one whose settings exchanged the code; absent where the provider has only one
 * @throws ServiceError when the provider is not set up
 */
async function findExchange({ loginAppId, provider }: TokenPlace, issuer: string | undefined) {
  const settings = await findProviderSettings(loginAppId, provider);
  if (!settings) throw notSetUp(provider);
  const decrypted = await decryptSecrets(settings.settings, settings.place);
  return v.parse(v.optional(refreshTokenSchema), settingsOf(provider).exchange(decrypted, issuer));
}
