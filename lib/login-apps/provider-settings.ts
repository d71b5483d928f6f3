import { timestamp } from '../clock.ts';
import type { ProviderId } from '../providers/identifiers.ts';
import { notSetUp } from '../providers/not-set-up.ts';
import { decryptSecrets, encryptSecrets } from '../providers/settings-encryption.ts';
import { putItem } from '../storage/items.ts';
import { providerSettingsKey } from '../storage/keys.ts';
import { findLoginApp, type LoginApp } from './login-app.ts';

/** The settings of a provider for a Login App, with their secrets. @throws Refusal when it is not set up */
export async function readProviderSettings(
  { login_app_id }: LoginApp,
  provider: ProviderId,
): Promise<object> {
  const loginApp = await findLoginApp(login_app_id, (app) => app.providers.has(provider));
  const stored = loginApp?.providers.get(provider);
  if (!stored) throw notSetUp(provider);
  return decryptSecrets(stored, { loginAppId: login_app_id, provider });
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
