import { timestamp } from '../clock.ts';
import type { ProviderId } from '../providers/identifiers.ts';
import { encryptSecrets, type StoredSettings } from '../providers/settings-encryption.ts';
import { putItem } from '../storage/items.ts';
import { providerSettingsKey } from '../storage/keys.ts';
import { findLoginApp, type LoginApp } from './login-app.ts';

/** The settings of a provider in a Login App; undefined when it is not set up. */
export function providerSettingsOf(
  { login_app_id, providers }: LoginApp,
  provider: ProviderId,
): StoredSettings | undefined {
  const settings = providers.get(provider);
  return settings && { settings, place: { loginAppId: login_app_id, provider } };
}

/** The same; a Login App that lacks the provider is read again, because it may be up to 30 s old. */
export async function findProviderSettings(
  loginApp: LoginApp,
  provider: ProviderId,
): Promise<StoredSettings | undefined> {
  const known = providerSettingsOf(loginApp, provider);
  if (known) return known;
  const newest = await findLoginApp(loginApp.login_app_id, ({ providers }) => providers.has(provider));
  return newest && providerSettingsOf(newest, provider);
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
