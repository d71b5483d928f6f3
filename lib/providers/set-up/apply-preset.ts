import { authorizationCodeProvider, type ProviderId, protocolNames } from '../provider-ids.ts';
import type { MergeResult } from '../settings/input.ts';
import { type Need, type Preset, type PresetName, type PresetOptions, presets } from './presets.ts';

/** The settings of a preset for a provider, or every problem with the options. */
export function applyPreset(
  name: PresetName,
  provider: ProviderId,
  options: PresetOptions,
): MergeResult {
  const preset: Preset = presets[name];
  const protocol = protocolNames[provider];
  const isForCodes = !preset[protocol] && provider === authorizationCodeProvider;
  const settingsOf = isForCodes ? preset.codes : preset[protocol];
  if (!settingsOf)
    return { problems: [`the preset ${name} is not for ${provider}, which is ${protocol}`] };
  const isGiven = (need: Need) =>
    need === 'tenant' ? isGuid(options.tenant) : Boolean(options[need]?.length);
  const { needs = [], exchangeNeeds } = preset;
  const ofExchange: Need[] = ['app-secret', ...(exchangeNeeds ?? [])];
  const isExchange =
    isForCodes || isGiven('redirect-uri') || (exchangeNeeds && ofExchange.some(isGiven));
  const needed = new Set([...(isExchange ? ofExchange : []), ...needs]);
  const belongsToOneApp = isForCodes || needs.includes('app-secret');
  const appIds = options['app-id'];
  const problems = [...needed].filter((need) => !isGiven(need)).map((need) => missing(need, name));
  if (appIds.length === 0) problems.unshift('--app-id is missing');
  if (belongsToOneApp && appIds.length > 1)
    problems.unshift(`the preset ${name} takes one --app-id: the secret belongs to it`);
  if (problems.length > 0) return { problems };
  const { namespace, notifications } = options;
  const made = settingsOf(options);
  const settings =
    protocol === 'oidc' ? { issuers: [{ ...made, audiences: appIds, notifications }] } : made;
  if (notifications !== undefined && !JSON.stringify(settings).includes('"notifications"'))
    return { problems: [`the preset ${name} sends ${provider} no notifications`] };
  // The namespace of an issuer is set by the preset, or when it is merged with the stored settings.
  const namesItsPeople = 'user_info' in settings || 'verify_url' in settings;
  return { settings: namespace && namesItsPeople ? { ...settings, namespace } : settings };
}

const isGuid = (text = ''): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

const missing = (need: Need, name: PresetName): string => {
  if (need === 'tenant')
    return '--tenant must be the id of the directory, a GUID: for people of any directory, use the preset microsoft-any';
  return `--${need === 'app-secret' ? 'app-secret-file' : need} is needed for the preset ${name}`;
};
