import * as v from 'valibot';
import type { RevocableToken, VerifiedIdentity } from '../login-users/linked-identity.ts';
import { logRevocation, revokeProviderToken } from './codes/token-endpoint.ts';
import { oauth2SettingsSchema } from './oauth2/settings.ts';
import { oidcSettingsSchema } from './oidc/settings.ts';
import type { ProviderId } from './provider-ids.ts';
import { decryptSecrets } from './settings/encryption.ts';
import { findProviderSettings, notSetUp } from './settings/stored.ts';

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
  token: RevocableToken,
  { login_user_id, signal }: { login_user_id?: string; signal?: AbortSignal | undefined } = {},
): Promise<boolean> => logRevocation(revoke(place, token, signal), login_user_id);

async function revoke(
  { loginAppId, provider }: TokenPlace,
  { text, issuer }: RevocableToken,
  signal: AbortSignal | undefined,
): Promise<void> {
  const settings = await findProviderSettings(loginAppId, provider);
  if (!settings) throw notSetUp(provider);
  const decrypted = await decryptSecrets(settings.settings, settings.place);
  await revokeProviderToken(exchangeIn(decrypted, issuer), text, signal);
}

function exchangeIn(settings: object, issuer: string | undefined) {
  if (issuer === undefined) return v.parse(oauth2SettingsSchema, settings).authorization_code;
  const { issuers } = v.parse(oidcSettingsSchema, settings);
  return issuers.find((one) => one.issuer === issuer)?.code_exchange;
}

/**
 * Carries out a step between the verification of an identity and its login or link, which stores
 * the provider's refresh token. If the step fails, nobody stores the token, so it is revoked.
 */
export async function revokedOnFailure<Result>(
  place: TokenPlace,
  { revocableToken }: VerifiedIdentity,
  step: () => Promise<Result>,
): Promise<Result> {
  try {
    return await step();
  } catch (error) {
    if (revocableToken) await revokeToken(place, revocableToken);
    throw error;
  }
}
