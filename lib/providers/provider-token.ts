import * as v from 'valibot';
import type { ProviderToken } from '../login-users/linked-identity.ts';
import { type RefreshTokenSettings, refreshTokenSchema } from './codes/settings.ts';
import {
  logRevocation,
  refreshProviderToken,
  revokeProviderToken,
} from './codes/token-endpoint.ts';
import type { ProviderId } from './provider-ids.ts';
import { decryptSecrets, type StoredSettings } from './settings/encryption.ts';
import { hostOf } from './settings/fields.ts';
import { findEarlierSettings } from './settings/keeping-end.ts';
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
 * Revokes a provider's refresh token, by the settings as they are now, or as they were when they kept
 * it. A failure is logged.
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
  const now = seenBy(await findExchange(place, issuer), access);
  // Settings that no longer keep tokens may name another endpoint, or be gone.
  const isUnkept = access !== undefined && now?.keep_tokens !== true;
  const earlier = isUnkept ? await findEarlierExchange(place, issuer, access.host) : undefined;
  const exchange = earlier ?? now;
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
export async function refreshToken(place: TokenPlace, { text, issuer, access }: ProviderToken) {
  const found = await findExchange(place, issuer);
  if (!found) throw notSetUp(place.provider);
  const exchange = seenBy(found, access);
  return exchange ? refreshProviderToken(exchange, text) : 'refused';
}

/**
 * An exchange that may see a token: settings that name another host by now are those of another
 * provider. A token that is stored to be revoked alone does not say where it comes from.
 */
const seenBy = (
  exchange: RefreshTokenSettings | undefined,
  access: ProviderToken['access'],
): RefreshTokenSettings | undefined => {
  if (!exchange || !access) return exchange;
  return hostOf(exchange.token_url) === access.host ? exchange : undefined;
};

/**
 * The part of a provider's settings about its refresh tokens, decrypted; undefined for none.
 * @param issuer the one whose settings exchanged the code; absent where the provider has only one
 */
async function findExchange({ loginAppId, provider }: TokenPlace, issuer: string | undefined) {
  return exchangeIn(await findProviderSettings(loginAppId, provider), provider, issuer);
}

/** That part of the settings that kept the tokens of a host until lately. */
async function findEarlierExchange(
  { loginAppId, provider }: TokenPlace,
  issuer: string | undefined,
  host: string,
) {
  const earlier = await findEarlierSettings(loginAppId, provider, host, issuer ?? '');
  return exchangeIn(earlier, provider, issuer);
}

async function exchangeIn(
  stored: StoredSettings | undefined,
  provider: ProviderId,
  issuer: string | undefined,
) {
  if (!stored) return undefined;
  const decrypted = await decryptSecrets(stored.settings, stored.place);
  return v.parse(v.optional(refreshTokenSchema), settingsOf(provider).exchange(decrypted, issuer));
}
