import type { ProviderId } from './identifiers.ts';
import { type Preset, type PresetName, type PresetOptions, presets } from './presets.ts';
import { providers } from './providers.ts';

/** The settings of a preset for a provider, or every problem with the options. */
export function applyPreset(
  name: PresetName,
  provider: ProviderId,
  options: PresetOptions,
): { settings: object } | { problems: string[] } {
  const preset: Preset = presets[name];
  const family = providers[provider].name;
  const settingsOf = preset.settings[family];
  if (!settingsOf) {
    const fitting = Object.keys(preset.settings).join(' or ');
    return {
      problems: [
        `the preset ${name} is for a provider of the family ${fitting}, and ${provider} is ${family}`,
      ],
    };
  }
  const given = {
    'app-secret': options.appSecret !== '',
    tenant: isTenant(options.tenant),
  };
  const needsSecret = preset.needs.includes('app-secret') || options.redirectUri !== undefined;
  const problems = [
    ...(options.appIds.length === 0 ? ['--app-id is missing'] : []),
    ...(preset.needs.includes('app-secret') && options.appIds.length > 1
      ? [`the preset ${name} takes one --app-id: the secret belongs to it`]
      : []),
    ...(needsSecret && !given['app-secret'] ? [`--app-secret is needed for the preset ${name}`] : []),
    ...(preset.needs.includes('tenant') && !given.tenant
      ? ['--tenant must be the id of the directory, a GUID: common issuers vouch for any directory']
      : []),
  ];
  return problems.length > 0 ? { problems } : { settings: settingsOf(options) };
}

const isTenant = (tenant: string | undefined): boolean =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(tenant ?? '');
