import { newId } from '../../foundation/ids.ts';
import type { ServiceSecret } from '../../secrets/service-secret.ts';
import { type Item, type ItemKey, type ItemOf, keyOf, readItem, updateItem } from '../../storage/items.ts';
import { providerSettingsList } from '../../storage/keys.ts';
import { readGlobalList } from '../../storage/lists.ts';
import { retryOnConflict } from '../../storage/retry-on-conflict.ts';
import { reencryptSecrets } from './encryption.ts';
import { providerSettingsItem } from './stored.ts';

/** The number of settings that are encrypted again at the same time, and that the list is asked for at once. */
const batchSize = 25;

/**
 * Encrypts the provider settings of all Login Apps with the current key of a secret. Skips settings that already use that
 * key, and those that no key of the secret can decrypt.
 * @returns the names of the latter, such as `la_9hX… provider_e`
 */
export async function reencryptProviderSettings(secret: ServiceSecret): Promise<string[]> {
  const unreadable: string[] = [];
  let start: Item | undefined;
  do {
    const page = { limit: batchSize, start };
    const { items, next } = await readGlobalList('by_list', providerSettingsList, page);
    const names = await Promise.all(
      items.map((item) => reencrypt({ ...keyOf(item), parse: providerSettingsItem.parse }, secret)),
    );
    unreadable.push(...names.filter((name) => name !== undefined));
    start = next;
  } while (start);
  return unreadable;
}

/** Encrypts one provider's settings again. Returns their name when they can't be read. */
async function reencrypt(
  key: ItemKey<ItemOf<typeof providerSettingsItem>>,
  secret: ServiceSecret,
): Promise<string | undefined> {
  const { unreadable } = await retryOnConflict(async () => {
    const item = await readItem(key);
    // Removed meanwhile.
    if (!item) return {};
    const { login_app_id, provider, settings, revision } = item;
    const encrypted = reencryptSecrets({ settings, place: { loginAppId: login_app_id, provider } }, secret);
    if (encrypted === 'unreadable') return { unreadable: `${login_app_id} ${provider}` };
    if (!encrypted) return {};
    const { done } = await updateItem(key, {
      set: { settings: encrypted, revision: newId('r') },
      when: { revision: { is: revision } },
    });
    return done ? {} : undefined;
  }, 'Others keep changing the provider settings.');
  return unreadable;
}
