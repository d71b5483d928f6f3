import * as v from 'valibot';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent, logFailure } from '../../log/log.ts';
import { notSetUp } from '../../providers/not-set-up.ts';
import { revokeProviderToken } from '../../providers/oauth2/revoke-token.ts';
import { oauth2SettingsSchema } from '../../providers/oauth2/settings.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { decryptSecrets } from '../../providers/settings/encryption.ts';
import { findProviderSettings } from '../../providers/settings/stored.ts';

/** The Login App and the provider that a token of a person came from. */
export interface TokenPlace {
  loginAppId: string;
  provider: ProviderId;
}

/**
 * Revokes a provider's refresh token. False when it is not revoked, and the log says why: whatever goes wrong must not
 * stop what the person has asked for.
 * @param read gives the token
 */
export async function revokeToken(
  login_user_id: string,
  place: TokenPlace,
  read: () => string | Promise<string>,
): Promise<boolean> {
  try {
    const settings = await findProviderSettings(place.loginAppId, place.provider);
    if (!settings) throw notSetUp(place.provider);
    const decrypted = await decryptSecrets(settings.settings, settings.place);
    await revokeProviderToken(v.parse(oauth2SettingsSchema, decrypted), await read());
    logEvent('provider_token_revoked', { login_user_id });
    return true;
  } catch (error) {
    logFailure('provider_token_not_revoked', error, { login_user_id });
    return false;
  }
}

/**
 * Does what a person has a verified identity for. If that is refused, there is nobody to keep the provider's token for, and
 * it is revoked at once.
 * @param loginUserId gives the person whom the log names
 */
export async function revokingIfRefused<Result>(
  token: string | undefined,
  place: TokenPlace,
  loginUserId: () => string,
  act: () => Promise<Result>,
): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (token !== undefined && error instanceof ServiceError)
      await revokeToken(loginUserId(), place, () => token);
    throw error;
  }
}
