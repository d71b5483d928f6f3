import { ServiceError } from '../../errors/service-error.ts';
import { providerSettingsOf } from '../../login-apps/login-app.ts';
import { applyPreset } from '../../provider-settings/apply-preset.ts';
import { combineSettings } from '../../provider-settings/combine-settings.ts';
import type { GivenSettings } from '../../provider-settings/given-settings.ts';
import type { ProviderId } from '../../provider-settings/identifiers.ts';
import { withoutIssuer } from '../../provider-settings/oidc.ts';
import { maskSecrets } from '../../provider-settings/settings-encryption.ts';
import { changeProviderSettings, removeProviderSettings } from '../../provider-settings/stored-settings.ts';
import { providers } from '../../providers/providers.ts';
import type { CommandsOf } from '../commands-of.ts';
import { requireLoginApp } from './login-apps.ts';

type Commands = CommandsOf<'providers'>;

export const providerCommands: Commands = {
  set: async (flags) => {
    const { provider } = flags;
    const { login_app_id } = await requireLoginApp(flags['login-app']);
    const given = settingsFrom(flags);
    const settings = await changeProviderSettings(login_app_id, provider, (current) =>
      accepted(provider, combineSettings(provider, given, current)),
    );
    return { login_app_id, provider, settings: maskSecrets(settings) };
  },
  remove: async ({ 'login-app': id, provider, issuer }) => {
    const { login_app_id } = await requireProvider(id, provider);
    if (issuer === undefined) {
      await removeProviderSettings(login_app_id, provider);
      return { login_app_id, provider, settings: null };
    }
    const remaining = await changeProviderSettings(login_app_id, provider, (current) =>
      accepted(provider, withoutIssuer(current, issuer)),
    );
    return { login_app_id, provider, settings: maskSecrets(remaining) };
  },
  check: async ({ 'login-app': id, provider }) => {
    const { login_app_id, stored } = await requireProvider(id, provider);
    const checks = await providers[provider].check(stored);
    return { login_app_id, provider, ok: checks.every(({ ok }) => ok), checks };
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

async function requireProvider(id: string, provider: ProviderId) {
  const loginApp = await requireLoginApp(id);
  const stored = providerSettingsOf(loginApp, provider);
  if (!stored) {
    const others = [...loginApp.providers.keys()].join(', ') || 'none';
    throw new ServiceError('not_found', `The Login App has no ${provider}; it has ${others}.`);
  }
  return { login_app_id: loginApp.login_app_id, stored };
}

/** The settings that the flags give, whole or by a preset. @throws ServiceError */
function settingsFrom(flags: Parameters<Commands['set']>[0]): GivenSettings {
  const { provider, settings, preset } = flags;
  if ((settings === undefined) === (preset === undefined)) {
    throw new ServiceError('invalid_request', 'Give either --settings or --preset.');
  }
  if (preset === undefined) return { settings, isPreset: false };
  const applied = applyPreset(preset, provider, {
    appIds: listOf(flags['app-id']),
    appSecret: flags['app-secret'] ?? '',
    redirectUris: listOf(flags['redirect-uri']),
    tenant: flags.tenant,
    teamId: flags['team-id'],
    keyId: flags['key-id'],
    namespace: flags.namespace,
  });
  return { settings: accepted(provider, applied), isPreset: true };
}

const listOf = (text = ''): string[] => text.split(',').filter(Boolean);

/** The settings, if there is nothing wrong with them. @throws ServiceError */
function accepted(provider: ProviderId, result: { settings: object } | { problems: string[] }): object {
  if ('settings' in result) return result.settings;
  throw new ServiceError(
    'invalid_request',
    `The settings of ${provider} are invalid: ${result.problems.join('; ')}.`,
  );
}
