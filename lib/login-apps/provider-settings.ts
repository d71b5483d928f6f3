import * as v from 'valibot';
import { timestamp } from '../clock.ts';
import type { ProviderId } from '../providers/identifiers.ts';
import { encryptSecrets, type StoredSettings } from '../providers/settings-encryption.ts';
import { putItem, readItem } from '../storage/items.ts';
import { providerSettingsKey } from '../storage/keys.ts';
import { recentlyRead } from '../storage/recently-read.ts';
import { type LoginApp, providerSettingsItem } from './login-app.ts';

/** The settings of a provider in a Login App that was read whole; undefined when it is not set up. */
export function providerSettingsOf(
  { login_app_id, providers }: LoginApp,
  provider: ProviderId,
): StoredSettings | undefined {
  const settings = providers.get(provider);
  return settings && { settings, place: { loginAppId: login_app_id, provider } };
}

/** A provider that a warm function does not know is read at once: it works as soon as it is set up. */
const findStored = recentlyRead(
  async ([loginAppId, provider]: readonly [string, ProviderId]) => {
    const item = await readItem(providerSettingsKey(loginAppId, provider));
    return item && v.parse(providerSettingsItem, item);
  },
  ([loginAppId, provider]) => `${loginAppId} ${provider}`,
  0,
);

/** The settings of a provider in a Login App, up to 30 s old; undefined when it is not set up. */
export async function findProviderSettings(
  loginAppId: string,
  provider: ProviderId,
): Promise<StoredSettings | undefined> {
  const stored = await findStored([loginAppId, provider], () => true);
  return stored && { settings: stored.settings, place: { loginAppId, provider } };
}

/** Stores provider settings that have been checked; their secrets are encrypted. */
export async function setProviderSettings(
  loginAppId: string,
  provider: ProviderId,
  settings: object,
): Promise<void> {
  await putItem({
    ...providerSettingsKey(loginAppId, provider),
    provider,
    settings: await encryptSecrets(settings, { loginAppId, provider }),
    updated_at: timestamp(),
  });
}
