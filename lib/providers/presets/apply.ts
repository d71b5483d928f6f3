import { definedOnly } from '../../foundation/defined-only.ts';
import type { MergeResult } from '../protocol.ts';
import { authorizationCodeProvider, type ProviderId, protocolNames } from '../provider-ids.ts';
import { type Need, type Preset, type PresetName, type PresetOptions, presets } from './presets.ts';

/** The settings of a preset for a provider, or every problem with the options. */
export function applyPreset(name: PresetName, provider: ProviderId, options: PresetOptions): MergeResult {
  const preset: Preset = presets[name];
  const fitting = fittingPart(preset, provider);
  if (!fitting) {
    const names = Object.keys(preset).filter((name) => protocols.includes(name));
    const purposes = [
      ...(names.length > 0 ? [`a provider of the family ${names.join(' or ')}`] : []),
      ...(preset.codes ? [`authorization codes of ${authorizationCodeProvider}`] : []),
    ];
    return {
      problems: [
        `the preset ${name} is for ${purposes.join(', or for ')}, and ${provider} is ${protocolNames[provider]}`,
      ],
    };
  }
  const needs = new Set(fitting.needs);
  if (options.redirectUris?.length) needs.add('app-secret');
  const { exchangeNeeds = [] } = preset;
  if (exchangeNeeds.some((need) => isGiven[need](options)))
    exchangeNeeds.forEach((need) => void needs.add(need));
  const belongsToOneApp = fitting.needs.includes('app-secret');
  const problems = [
    ...(options.appIds.length === 0 ? ['--app-id is missing'] : []),
    ...(belongsToOneApp && options.appIds.length > 1
      ? [`the preset ${name} takes one --app-id: the secret belongs to it`]
      : []),
    ...[...needs].filter((need) => !isGiven[need](options)).map((need) => missing(need, name)),
  ];
  if (problems.length > 0) return { problems };
  const { namespace } = options;
  const settings = fitting.settings(options);
  // An issuer of id tokens has its own: from the preset, or by the way in which it is combined with what is stored.
  const namesItsPeople = 'user_info' in settings || 'verify_url' in settings;
  if (options.notifications !== undefined && !JSON.stringify(settings).includes('"notifications"'))
    return { problems: [`the preset ${name} sends ${provider} no notifications`] };
  return { settings: namespace && namesItsPeople ? { ...settings, namespace } : settings };
}

const protocols: string[] = Object.values(protocolNames);

function fittingPart(preset: Preset, provider: ProviderId): Preset['codes'] {
  const { needs = [], oidc, codes } = preset;
  const protocol = protocolNames[provider];
  const issuer = (options: PresetOptions) => {
    const { appIds: audiences, notifications } = options;
    return definedOnly({ ...oidc?.(options), audiences, notifications });
  };
  if (protocol === 'oidc') return oidc && { needs, settings: (options) => ({ issuers: [issuer(options)] }) };
  const settings = preset[protocol];
  if (settings) return { needs, settings };
  return provider === authorizationCodeProvider ? codes : undefined;
}

const isGiven: Record<Need, (options: PresetOptions) => boolean> = {
  'app-secret': ({ appSecret }) => appSecret !== '',
  'team-id': ({ teamId }) => teamId !== undefined,
  'key-id': ({ keyId }) => keyId !== undefined,
  issuer: ({ issuer }) => issuer !== undefined,
  'redirect-uri': ({ redirectUris = [] }) => redirectUris.length > 0,
  tenant: ({ tenant = '' }) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(tenant),
};

const missing = (need: Need, name: PresetName): string => {
  if (need === 'tenant')
    return '--tenant must be the id of the directory, a GUID: common issuers vouch for any directory';
  return `--${need === 'app-secret' ? 'app-secret-file' : need} is needed for the preset ${name}`;
};
