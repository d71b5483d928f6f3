import { epochSeconds, timestamp } from '../../foundation/clock.ts';
import { newId } from '../../foundation/ids.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import { readItem } from '../../storage/items.ts';
import { keepingEndsList, providerSettingsList } from '../../storage/keys.ts';
import {
  put,
  remove,
  type TransactionWrite,
  update,
  writeTogether,
} from '../../storage/transactions.ts';
import type { ProviderId } from '../provider-ids.ts';
import { decryptSecrets, encryptSecrets, withoutSecrets } from '../settings/encryption.ts';
import { keepingEndItem } from '../settings/keeping-end.ts';
import { providerSettingsItem } from '../settings/stored.ts';
import { type StoredKeeper, settingsOf } from '../stored/settings-of.ts';

/**
 * Changes or removes provider settings. Where they no longer keep tokens, the same transaction has
 * those of people forgotten.
 * @param change gets the stored ones, without secrets that are unreadable; undefined removes them
 */
export async function changeProviderSettings<Settings extends object | undefined>(
  loginAppId: string,
  provider: ProviderId,
  change: (current: object | undefined) => Settings,
): Promise<Settings> {
  const key = providerSettingsItem(loginAppId, provider);
  const place = { loginAppId, provider };
  const changeOnce = async () => {
    // 1. The settings as they are.
    const current = await readItem(key);
    const stored = current?.settings;
    const known = stored && (await readableIn(stored, place));

    // 2. As they are to be.
    const settings = change(known);
    const when = { revision: { is: current?.revision } };
    const write = settings
      ? update(key, { set: await storedSettings(settings, place), when })
      : remove(key, when);

    // 3. What is kept of people changes with them.
    const { done } = await writeTogether([write, ...writesAboutKeeping(place, stored, settings)]);
    return done ? { settings } : undefined;
  };
  const { settings } = await retryOnConflict(
    changeOnce,
    'Others keep changing the provider settings.',
  );
  return settings;
}

interface Place {
  loginAppId: string;
  provider: ProviderId;
}

/** Stored settings, decrypted; without their secrets when these can't be read. */
const readableIn = (stored: Record<string, unknown>, place: Place): Promise<object> =>
  decryptSecrets(stored, place).catch(() => withoutSecrets(stored));

const storedSettings = async (settings: object, place: Place) => ({
  login_app_id: place.loginAppId,
  provider: place.provider,
  list: providerSettingsList,
  list_position: place.loginAppId,
  settings: await encryptSecrets(settings, place),
  revision: newId('r'),
  updated_at: timestamp(),
});

/**
 * The exchanges whose tokens are no longer kept by new settings. One with the token endpoint of
 * another host is another one.
 */
export function keepersLost(
  provider: ProviderId,
  before: object | undefined,
  after: object | undefined,
): StoredKeeper[] {
  const { keepers } = settingsOf(provider);
  const now = keepers(after ?? {});
  return keepers(before ?? {}).filter(
    ({ issuer, host }) => !now.some((one) => one.issuer === issuer && one.host === host),
  );
}

/** The writes that have tokens forgotten, or that stop it where settings keep tokens again. */
function writesAboutKeeping(
  { loginAppId, provider }: Place,
  before: Record<string, unknown> = {},
  after: object | undefined,
): TransactionWrite[] {
  const ended = keepersLost(provider, before, after).map(({ issuer, host }) =>
    put(keepingEndItem(loginAppId, provider, host, issuer), {
      login_app_id: loginAppId,
      provider,
      issuer,
      host,
      settings: before,
      ended_at: epochSeconds(),
      list_number: 0,
      // Whatever the first look finds, a second one follows.
      has_found: true,
      has_failed: false,
      revision: newId('r'),
      list: keepingEndsList,
      list_position: timestamp(),
    }),
  );
  const begun = keepersLost(provider, after, before).map(({ issuer, host }) =>
    remove(keepingEndItem(loginAppId, provider, host, issuer)),
  );
  return [...ended, ...begun];
}
