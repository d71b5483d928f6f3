import { providerSettingsOf, setProviderSettings } from '../../login-apps/provider-settings.ts';
import { applyPreset } from '../../providers/apply-preset.ts';
import { checkSettings } from '../../providers/check-settings.ts';
import { providers } from '../../providers/providers.ts';
import { maskSecrets } from '../../providers/settings-encryption.ts';
import { Refusal } from '../../refusal.ts';
import type { CommandsOf } from '../commands-of.ts';
import { requireLoginApp } from './login-apps.ts';

type Commands = CommandsOf<'providers'>;

export const providerCommands: Commands = {
  set: async (flags) => {
    const { provider } = flags;
    const { login_app_id } = await requireLoginApp(flags['login-app']);
    const checked = checkSettings(provider, settingsFrom(flags));
    if ('problems' in checked) throw refused(provider, checked.problems);
    await setProviderSettings(login_app_id, provider, checked.settings);
    return { login_app_id, provider, settings: maskSecrets(checked.settings) };
  },
  check: async ({ 'login-app': id, provider }) => {
    const loginApp = await requireLoginApp(id);
    const stored = providerSettingsOf(loginApp, provider);
    if (!stored) throw new Refusal('not_found', `${provider} is not set up for this Login App.`);
    const checks = await providers[provider].check(stored);
    return { login_app_id: loginApp.login_app_id, provider, ok: checks.every(({ ok }) => ok), checks };
  },
  show: async ({ 'login-app': id, provider }) => {
    const loginApp = await requireLoginApp(id);
    const shown = [...loginApp.providers].filter(([name]) => provider === undefined || name === provider);
    return {
      login_app_id: loginApp.login_app_id,
      providers: Object.fromEntries(shown.map(([name, settings]) => [name, maskSecrets(settings)])),
    };
  },
};

/** The settings that the flags give, whole or by a preset. @throws Refusal */
function settingsFrom(flags: Parameters<Commands['set']>[0]): unknown {
  const { provider, settings, preset } = flags;
  if ((settings === undefined) === (preset === undefined)) {
    throw new Refusal('invalid_request', 'Give either --settings or --preset.');
  }
  if (preset === undefined) return settings;
  const applied = applyPreset(preset, provider, {
    appIds: (flags['app-id'] ?? '').split(',').filter(Boolean),
    appSecret: flags['app-secret'] ?? '',
    redirectUri: flags['redirect-uri'],
    tenant: flags.tenant,
  });
  if ('problems' in applied) throw refused(provider, applied.problems);
  return applied.settings;
}

const refused = (provider: string, problems: string[]): Refusal =>
  new Refusal('invalid_request', `The settings of ${provider} are refused: ${problems.join('; ')}.`);
