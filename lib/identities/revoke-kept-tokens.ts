import * as v from 'valibot';
import { logEvent, logFailure } from '../log/log.ts';
import { firstIdentityId, identityAttributes, linkedIdentitiesIn } from '../login-users/linked-identity.ts';
import { listAttributes } from '../login-users/people-of-login-app.ts';
import { authorizationCodeProvider } from '../provider-settings/identifiers.ts';
import { notSetUp } from '../provider-settings/not-set-up.ts';
import { oauth2SettingsSchema } from '../provider-settings/oauth2.ts';
import { decryptSecrets } from '../provider-settings/settings-encryption.ts';
import { findProviderSettings } from '../provider-settings/stored-settings.ts';
import { revokeProviderToken } from '../providers/oauth2/revoke-token.ts';
import { type Item, readItem, updateItem } from '../storage/items.ts';
import { loginUserKey } from '../storage/keys.ts';

const keptTokenItem = v.object({ provider: v.literal(authorizationCodeProvider), token_secret: v.string() });
const ownerSchema = v.object({ login_user_id: v.string(), login_app_id: v.string() });

/** Whether an attribute of a Login User is a provider's token that is kept to be revoked. */
export const isKeptToken = (attribute: string): boolean =>
  attribute.startsWith(identityAttributes.keptToken(''));

/** Numbers of tokens that were revoked, and that are still to be revoked. */
export interface Revocations {
  revoked: number;
  not_revoked: number;
}

/**
 * Revokes a Login User's tokens of providers: all of a deleted one, otherwise those of identities that they have
 * unlinked. One that is revoked is removed; one that is not stays, and the log says why.
 */
export async function revokeKeptTokens(item: Item): Promise<Revocations> {
  const names = unneededTokensIn(item);
  if (names.length === 0) return { revoked: 0, not_revoked: 0 };
  const { login_user_id, login_app_id } = v.parse(ownerSchema, item);
  const outcomes = await Promise.all(
    names.map(async (attribute) => {
      if (!(await revoke(login_user_id, login_app_id, item[attribute]))) return false;
      await updateItem(loginUserKey(login_user_id), {
        remove: [attribute],
        when: { [attribute]: { exists: true } },
      });
      return true;
    }),
  );
  const revoked = outcomes.filter(Boolean).length;
  return { revoked, not_revoked: outcomes.length - revoked };
}

/** The attributes with tokens that no identity of theirs needs any longer. */
function unneededTokensIn(item: Item): string[] {
  const kept = Object.keys(item).filter(isKeptToken);
  if (item.deleted_at !== undefined) return kept;
  const ids = linkedIdentitiesIn(item).map(({ identity_id }) => identity_id);
  if (item.subject !== undefined) ids.push(firstIdentityId(String(item.login_user_id)));
  const needed = new Set<string>(ids.map(identityAttributes.keptToken));
  return kept.filter((name) => !needed.has(name));
}

/** False when the token is not revoked. Whatever goes wrong must not stop the deletion or the unlinking. */
async function revoke(loginUserId: string, loginAppId: string, stored: unknown): Promise<boolean> {
  try {
    const { provider, ...encrypted } = v.parse(keptTokenItem, stored);
    const settings = await findProviderSettings(loginAppId, provider);
    if (!settings) throw notSetUp(provider);
    const { token_secret } = v.parse(
      v.object({ token_secret: v.string() }),
      await decryptSecrets(encrypted, { loginAppId, provider }),
    );
    const decrypted = await decryptSecrets(settings.settings, settings.place);
    await revokeProviderToken(v.parse(oauth2SettingsSchema, decrypted), token_secret);
    logEvent('provider_token_revoked', { login_user_id: loginUserId });
    return true;
  } catch (error) {
    logFailure('provider_token_not_revoked', error, { login_user_id: loginUserId });
    return false;
  }
}

/** Tries again for a Login User, deleted or not; undefined when there is and was none. */
export async function retryRevocations(loginUserId: string): Promise<Revocations | undefined> {
  const item = await readItem(loginUserKey(loginUserId));
  if (!(item?.deleted_at || item?.created_at)) return undefined;
  const outcome = await revokeKeptTokens(item);
  // An interrupted deletion is left to be finished by another.
  if (outcome.not_revoked === 0 && item.list !== undefined && item.created_at === undefined) {
    await updateItem(loginUserKey(loginUserId), {
      remove: [...listAttributes],
      when: { created_at: { exists: false }, list: { exists: true } },
    });
  }
  return outcome;
}
