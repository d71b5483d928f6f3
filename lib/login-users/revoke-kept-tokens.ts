import * as v from 'valibot';
import { logEvent, logFailure } from '../log.ts';
import { findProviderSettings } from '../login-apps/provider-settings.ts';
import { authorizationCodeProvider } from '../providers/identifiers.ts';
import { notSetUp } from '../providers/not-set-up.ts';
import { revokeProviderToken } from '../providers/oauth2/revoke-token.ts';
import { oauth2Settings } from '../providers/oauth2/settings.ts';
import { decryptSecrets } from '../providers/settings-encryption.ts';
import { type Item, readItem, updateItem } from '../storage/items.ts';
import { loginUserKey } from '../storage/keys.ts';
import { identityAttributes } from './linked-identity.ts';

const keptToken = v.object({ provider: v.literal(authorizationCodeProvider), token_secret: v.string() });
const owner = v.object({ login_user_id: v.string(), login_app_id: v.string() });

/** Whether an attribute of a Login User is a provider's token that is kept to be revoked. */
export const isKeptToken = (attribute: string): boolean =>
  attribute.startsWith(identityAttributes.keptToken(''));

export const hasKeptTokens = (item: Item): boolean => Object.keys(item).some(isKeptToken);

/**
 * Revokes the providers' tokens of a Login User. One that is revoked is removed; one that is not stays, and the log says
 * why. Returns how many stay.
 */
export async function revokeKeptTokens(item: Item): Promise<number> {
  const { login_user_id, login_app_id } = v.parse(owner, item);
  const kept = Object.entries(item).filter(([name]) => isKeptToken(name));
  const outcomes = await Promise.all(
    kept.map(async ([attribute, stored]) => {
      if (!(await revoke(login_user_id, login_app_id, stored))) return false;
      await updateItem(loginUserKey(login_user_id), {
        remove: [attribute],
        when: { [attribute]: { exists: true } },
      });
      return true;
    }),
  );
  return outcomes.filter((isRevoked) => !isRevoked).length;
}

/** False when the token is not revoked. Whatever goes wrong must not stop the deletion of the person. */
async function revoke(login_user_id: string, loginAppId: string, stored: unknown): Promise<boolean> {
  try {
    const { provider, ...encrypted } = v.parse(keptToken, stored);
    const settings = await findProviderSettings(loginAppId, provider);
    if (!settings) throw notSetUp(provider);
    const { token_secret } = v.parse(
      v.object({ token_secret: v.string() }),
      await decryptSecrets(encrypted, { loginAppId, provider }),
    );
    const decrypted = await decryptSecrets(settings.settings, settings.place);
    await revokeProviderToken(v.parse(oauth2Settings, decrypted), token_secret);
    logEvent('provider_token_revoked', { login_user_id });
    return true;
  } catch (error) {
    logFailure('provider_token_not_revoked', error, { login_user_id });
    return false;
  }
}

/** Tries again for a deleted Login User; undefined when there is none. */
export async function retryRevocations(
  loginUserId: string,
): Promise<{ revoked: number; not_revoked: number } | undefined> {
  const item = await readItem(loginUserKey(loginUserId));
  if (!item?.deleted_at) return undefined;
  const all = Object.keys(item).filter(isKeptToken).length;
  const not_revoked = await revokeKeptTokens(item);
  return { revoked: all - not_revoked, not_revoked };
}
