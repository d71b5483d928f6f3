import * as v from 'valibot';
import { isId, newId } from '../../foundation/ids.ts';
import { invalid, type ServiceError } from '../../foundation/service-error.ts';
import type { ServiceSecret } from '../../secrets/service-secret.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import { cached } from '../../storage/cache.ts';
import { itemKind, keyOf, readItem, updateItem } from '../../storage/items.ts';
import { providerSettingsKey, providerSettingsList } from '../../storage/keys.ts';
import { readGlobalPages } from '../../storage/lists.ts';
import { type ProviderId, providerIds } from '../provider-ids.ts';
import { reencryptSecrets, type StoredSettings } from './encryption.ts';

export const providerSettingsItem = itemKind(
  v.object({
    login_app_id: v.string(),
    provider: v.picklist(providerIds),
    settings: v.record(v.string(), v.unknown()),
    /** Changes with every write, for conditional writes. */
    revision: v.string(),
    updated_at: v.optional(v.string()),
  }),
  providerSettingsKey,
);

/** The settings of a provider in a Login App as they are now; undefined for none. */
export async function readProviderSettings(
  loginAppId: string,
  provider: ProviderId,
): Promise<StoredSettings | undefined> {
  const item = await readItem(providerSettingsItem(loginAppId, provider));
  return item && { settings: item.settings, place: { loginAppId, provider } };
}

/**
 * Finds provider settings.
 * @param deniedFor milliseconds for which one that is not set up is not read again
 */
function finder(deniedFor?: number) {
  const isPossible = (loginAppId: string, _: ProviderId) => isId('la_…', loginAppId);
  const settings = cached(isPossible, readProviderSettings, { deniedFor });
  return settings.find;
}

/**
 * The settings of a provider in a Login App, up to 30 s old, undefined for none. A new provider
 * works at once.
 */
export const findProviderSettings = finder(0);

/** Provider settings for callers without credentials, who can cause one read a second. */
export const findProviderSettingsForAnybody = finder();

/** The error for a provider that is not set up for the Login App, or not for what is asked. */
export const notSetUp = (provider: ProviderId): ServiceError =>
  invalid(`The provider ${provider} is not set up for this Login App.`);

/**
 * Encrypts all provider settings with the current key of a secret.
 * @returns those that are unreadable: `la_9hX… provider_e`
 */
export async function reencryptProviderSettings(secret: ServiceSecret): Promise<string[]> {
  const unreadable: string[] = [];
  for await (const items of readGlobalPages('by_list', providerSettingsList, 25)) {
    const names = await Promise.all(
      items.map((item) => reencrypt({ ...keyOf(item), parse: providerSettingsItem.parse }, secret)),
    );
    unreadable.push(...names.filter(Boolean));
  }
  return unreadable;
}

/**
 * Encrypts the settings of one provider again.
 * @returns their name if they can't be decrypted, otherwise no text
 */
const reencrypt = (key: ReturnType<typeof providerSettingsItem>, secret: ServiceSecret) =>
  retryOnConflict(async () => {
    const item = await readItem(key);
    // Removed meanwhile.
    if (!item) return '';
    const { login_app_id, provider, settings, revision } = item;
    const encrypted = reencryptSecrets(settings, { loginAppId: login_app_id, provider }, secret);
    if (encrypted === 'unreadable') return `${login_app_id} ${provider}`;
    if (!encrypted) return '';
    const { done } = await updateItem(key, {
      set: { settings: encrypted, revision: newId('r') },
      when: { revision: { is: revision } },
    });
    return done ? '' : undefined;
  }, 'Others keep changing the provider settings.');
