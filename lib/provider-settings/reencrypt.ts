import * as v from 'valibot';
import { newId } from '../secrets/secrets.ts';
import type { ServiceSecret } from '../secrets/service-secret.ts';
import { readItem, updateItem } from '../storage/items.ts';
import { type Key, providerSettingsList } from '../storage/keys.ts';
import { readGlobalList } from '../storage/lists.ts';
import { reencryptSecrets } from './settings-encryption.ts';

const listed = v.object({ pk: v.string(), sk: v.string() });
const stored = v.object({
  login_app_id: v.string(),
  provider: v.string(),
  settings: v.looseObject({}),
  revision: v.string(),
});

/** How many are encrypted again at the same time, which is also how many the list is asked for at once. */
const batchSize = 25;
/** How often it is tried while operators change the same settings. */
const mostAttempts = 10;

/**
 * Encrypts the provider settings of all Login Apps with the current key of a secret. Skips settings that already use that
 * key, and those that no key of the secret can decrypt.
 * @returns the names of the latter, such as `la_9hX… provider_e`
 */
export async function reencryptProviderSettings(secret: ServiceSecret): Promise<string[]> {
  const unreadable: string[] = [];
  let start: Parameters<typeof readGlobalList>[2]['start'];
  do {
    const { items, next } = await readGlobalList('by_list', providerSettingsList, {
      limit: batchSize,
      start,
    });
    const names = await Promise.all(items.map((item) => reencrypt(v.parse(listed, item), secret)));
    unreadable.push(...names.filter((name) => name !== undefined));
    start = next;
  } while (start);
  return unreadable;
}

/** Encrypts one provider's settings again. Returns their name when they can't be read. */
async function reencrypt(key: Key, secret: ServiceSecret): Promise<string | undefined> {
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const item = await readItem(key);
    // Removed meanwhile.
    if (!item) return undefined;
    const { login_app_id, provider, settings, revision } = v.parse(stored, item);
    const encrypted = reencryptSecrets({ settings, place: { loginAppId: login_app_id, provider } }, secret);
    if (encrypted === 'unreadable') return `${login_app_id} ${provider}`;
    if (!encrypted) return undefined;
    const { done } = await updateItem(key, {
      set: { settings: encrypted, revision: newId('r') },
      when: { revision: { is: revision } },
    });
    if (done) return undefined;
  }
  throw new Error('Others keep changing the provider settings.');
}
