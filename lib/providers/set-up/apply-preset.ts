import {
  authorizationCodeProvider,
  type ProtocolName,
  type ProviderId,
  protocolNames,
} from '../provider-ids.ts';
import type { MergeResult } from '../settings/input.ts';
import { type Need, type Preset, type PresetName, type PresetOptions, presets } from './presets.ts';

/** The settings of a preset for a provider, or every problem with the options. */
export function applyPreset(
  name: PresetName,
  provider: ProviderId,
  options: PresetOptions,
): MergeResult {
  // 1. The provider speaks a protocol that the preset has settings for.
  const preset: Preset = presets[name];
  const protocol = protocolNames[provider];
  const isForCodes = !preset[protocol] && provider === authorizationCodeProvider;
  const settingsOf = isForCodes ? preset.codes : preset[protocol];
  if (!settingsOf)
    return { problems: [`the preset ${name} is not for ${provider}, which is ${protocol}`] };

  if (options['keep-tokens'] && !canKeepTokens(settingsOf, options))
    return {
      problems: [`the preset ${name} exchanges no codes for ${provider}: there is nothing to keep`],
    };

  if (options['long-lived-tokens'] && !options['keep-tokens'])
    return { problems: ['--long-lived-tokens is only for --keep-tokens'] };

  // 2. Nothing that they need is missing.
  const problems = problemsOf(name, options, isForCodes, protocol);
  if (problems.length > 0) return { problems };

  // 3. The settings take the notifications that an operator wants.
  const { namespace, notifications } = options;
  const made = settingsOf(options);
  const settings =
    protocol === 'oidc'
      ? { issuers: [{ ...made, audiences: options['app-id'], notifications }] }
      : made;
  const hasNotifications = JSON.stringify(settings).includes('"notifications"');
  if (notifications !== undefined && !hasNotifications)
    return { problems: [`the preset ${name} sends ${provider} no notifications`] };

  // 4. They name their people. An issuer's namespace is set by the preset, or when the settings are
  // merged with the stored ones.
  const namesItsPeople = 'user_info' in settings || 'verify_url' in settings;
  return { settings: namespace && namesItsPeople ? { ...settings, namespace } : settings };
}

/** Whether the settings that a preset makes can exchange codes, and keep the tokens. */
function canKeepTokens(settingsOf: (options: PresetOptions) => object, options: PresetOptions) {
  const all = { ...options, 'app-secret': 'x', 'redirect-uri': ['x'] };
  return JSON.stringify(settingsOf(all)).includes('"keep_tokens":true');
}

/** The problems with the options of a preset: what is missing, and too many apps. */
function problemsOf(
  name: PresetName,
  options: PresetOptions,
  isForCodes: boolean,
  protocol: ProtocolName,
): string[] {
  const { needs = [], exchangeNeeds }: Preset = presets[name];
  const appIds = options['app-id'];
  const belongsToOneApp = isForCodes || needs.includes('app-secret');

  // A code exchange is wanted if one of the options for it is given.
  const ofExchange: Need[] = ['app-secret', ...(exchangeNeeds ?? [])];
  const hasOptionOfExchange = ofExchange.some((need) => isGiven(need, options));
  const isExchange =
    isForCodes ||
    options['keep-tokens'] === true ||
    isGiven('redirect-uri', options) ||
    (exchangeNeeds !== undefined && hasOptionOfExchange);

  const problems: string[] = [];
  if (belongsToOneApp && appIds.length > 1)
    problems.push(`the preset ${name} takes one --app-id: the secret belongs to it`);
  if (appIds.length === 0) problems.push('--app-id is missing');
  const needed = new Set(isExchange ? [...ofExchange, ...needs] : needs);
  // Codes alone need one here, as with all settings for access tokens, too.
  if (options['keep-tokens'] && protocol === 'oauth2' && !isForCodes) needed.add('redirect-uri');
  for (const need of needed) if (!isGiven(need, options)) problems.push(missing(need, name));
  return problems;
}

function isGiven(need: Need, options: PresetOptions): boolean {
  if (need === 'tenant') return isGuid(options.tenant);
  const value = options[need];
  return value !== undefined && value.length > 0;
}

const isGuid = (text = ''): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

/** The problem of an option that a preset can't do without. */
function missing(need: Need, name: PresetName): string {
  if (need === 'tenant')
    return '--tenant must be the id of the directory, a GUID: for people of any directory, use the preset microsoft-any';
  const flag = need === 'app-secret' ? 'app-secret-file' : need;
  return `--${flag} is needed for the preset ${name}`;
}
