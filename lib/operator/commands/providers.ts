import * as v from 'valibot';
import { definedOnly } from '../../foundation/defined-only.ts';
import { invalid } from '../../foundation/service-error.ts';
import type { LoginApp } from '../../login-apps/login-app.ts';
import { withoutIssuer } from '../../providers/oidc/settings.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { protocolOf } from '../../providers/providers.ts';
import { applyPreset } from '../../providers/set-up/apply-preset.ts';
import { changeProviderSettings, keepersLost } from '../../providers/set-up/change-settings.ts';
import { companyAt } from '../../providers/set-up/companies.ts';
import { googleEvents } from '../../providers/set-up/google-events.ts';
import {
  checkSettings,
  lookAtIssuers,
  mergeSettings,
  removedIssuers,
  warnOfSpaces,
} from '../../providers/set-up/merge.ts';
import { namingFlag } from '../../providers/set-up/name-flags.ts';
import { presetNames } from '../../providers/set-up/presets.ts';
import { maskSecrets } from '../../providers/settings/encryption.ts';
import { providerUrlSchema } from '../../providers/settings/fields.ts';
import type { MergeResult, SettingsInput } from '../../providers/settings/input.ts';
import { settingsOf } from '../../providers/stored/settings-of.ts';
import { issuer, notificationsPath } from '../../tokens/issuer.ts';
import {
  choice,
  defineCommands,
  type FlagValues,
  json,
  onOff,
  optional,
  readFlags,
  secret,
  text,
} from '../command.ts';
import { existingOf, loginApp, provider } from './shared.ts';

function providerOf({ login_app_id, providers }: LoginApp, provider: ProviderId) {
  const settings = existingOf(providers.keys(), providers.get(provider), provider);
  return { login_app_id, stored: { settings, place: { loginAppId: login_app_id, provider } } };
}

/**
 * The settings that the flags give, whole or by a preset.
 * @throws ServiceError
 */
function settingsFrom(
  provider: ProviderId,
  flags: FlagValues<typeof settingsFlags>,
): SettingsInput {
  const { settings, preset } = flags;
  if ((settings === undefined) === (preset === undefined))
    throw invalid('Give either --settings or --preset.');
  if (preset === undefined) return { settings };
  const { namespace, issuer, 'jwks-uri': jwks_uri } = flags;
  if (preset !== 'oidc' && (issuer ?? jwks_uri) !== undefined)
    throw invalid('--issuer and --jwks-uri are for the preset oidc.');
  const lists = {
    'app-id': listOf(flags['app-id']),
    'redirect-uri': listOf(flags['redirect-uri']),
  };
  const applied = applyPreset(preset, provider, { ...flags, ...lists });
  const named = definedOnly({ namespace, jwks_uri });
  return { settings: accepted(provider, applied), named };
}

const listOf = (text = ''): string[] => text.split(',').filter(Boolean);

/**
 * The settings, if there is nothing wrong with them.
 * @param given by a preset, whose flags the error names
 * @throws ServiceError
 */
function accepted(provider: ProviderId, result: MergeResult, given?: SettingsInput): object {
  if ('settings' in result) return result.settings;
  const isByPreset = given?.named !== undefined;
  const problems = isByPreset ? result.problems.map(namingFlag) : result.problems;
  throw invalid(`The settings of ${provider} are invalid: ${[...new Set(problems)].join('; ')}.`);
}

const settingsFlags = {
  settings: optional(json('A JSON file with the provider settings; - for standard input')),
  preset: optional(choice(presetNames, 'Or: a well-known provider')),
  'app-id': optional(text('With --preset: our app ids, separated by commas')),
  'app-secret': optional(
    secret(
      'With --preset: a file with the secret of our app, or its private key; - for standard input',
    ),
  ),
  'redirect-uri': optional(text('With --preset: our redirect URIs, separated by commas')),
  tenant: optional(
    text(
      'With --preset microsoft: the tenant id; with microsoft-any: those that may log in, separated by commas',
    ),
  ),
  'team-id': optional(text('With --preset apple: the team id')),
  'key-id': optional(text('With --preset apple: the id of the private key')),
  issuer: optional(text('With --preset oidc: the iss of the id tokens')),
  'jwks-uri': optional(text("With --preset oidc: where the issuer's keys are, if on another host")),
  namespace: optional(
    text(
      'With --preset: the authority that the ids of people are from; needed when the host changes',
    ),
  ),
  'keep-tokens': onOff(
    'With --preset: keep the refresh tokens that come for codes, for your servers (see docs/provider-tokens.md)',
  ),
  'long-lived-tokens': onOff(
    'With --keep-tokens: give your servers access tokens that last longer than an hour, too, as those of GitHub and Microsoft do',
  ),
  notifications: optional(
    json('With --preset: a JSON file with the setting notifications, such as {}'),
  ),
};

/** The settings that remain when all, or those of one issuer, are removed; undefined for none. */
const remainingOf = (
  provider: ProviderId,
  issuer: string | undefined,
  current: object | undefined,
): object | undefined =>
  issuer === undefined ? undefined : accepted(provider, withoutIssuer(current, issuer));

const setFlags = { 'login-app': loginApp, provider, ...settingsFlags };

/** The settings by provider, as `providers show` shows them. */
const shownSchema = v.object({
  providers: v.record(v.string(), v.record(v.string(), v.unknown())),
});

/** The flags of `providers remove` that say what goes. */
const removalSchema = v.object({
  provider: provider.schema,
  issuer: v.optional(v.string()),
});

/**
 * Losses by `providers set` or `providers remove` that no other settings bring back, as parts of a
 * question: `removes the issuer https://accounts.example`.
 * @param shown the result of `providers show` before
 */
export function lossesBy(
  words: 'providers set' | 'providers remove',
  flags: Record<string, unknown>,
  shown: Record<string, unknown>,
): string[] {
  const { provider, before, after } = changeBy(words, flags, v.parse(shownSchema, shown).providers);
  const issuers = words === 'providers set' ? removedIssuers(provider, before, after ?? {}) : [];
  const places = keepersLost(provider, before, after).map(({ issuer }) => issuer ?? provider);
  const losses = issuers.length > 0 ? [`removes ${issuers.join(', ')}`] : [];
  if (places.length > 0)
    losses.push(`revokes and forgets the tokens that are kept of people at ${places.join(', ')}`);
  return losses;
}

/** The shown settings before and after a command; the same ones, if it will fail. */
function changeBy(
  words: 'providers set' | 'providers remove',
  flags: Record<string, unknown>,
  providers: v.InferOutput<typeof shownSchema>['providers'],
): { provider: ProviderId; before: object | undefined; after: object | undefined } {
  if (words === 'providers remove') {
    const { provider, issuer } = v.parse(removalSchema, flags);
    const before = unmasked(providers[provider]);
    return { provider, before, after: remainingOf(provider, issuer, before) };
  }
  const given = readFlags(words, setFlags, flags);
  const { provider } = given;
  const before = unmasked(providers[provider]);
  const merged = mergeSettings(provider, settingsFrom(provider, given), before);
  return { provider, before, after: 'settings' in merged ? merged.settings : before };
}

/** Shown settings as valid ones. A masked secret is a secret like others, but not a masked key. */
const unmasked = (shown: object | undefined): object | undefined =>
  shown &&
  JSON.parse(
    JSON.stringify(shown, (name, value) =>
      name === 'code_exchange'
        ? { ...value, client_secret: '********', client_secret_jwt: undefined }
        : value,
    ),
  );

export const providerCommands = defineCommands({
  'providers set': {
    summary: 'Set how the credentials of a provider are verified for a Login App',
    flags: setFlags,
    example:
      '--login-app "$LOGIN_APP" --provider provider_f --preset google --app-id 1234.apps.googleusercontent.com',
    run: async ({ 'login-app': { login_app_id }, provider, ...flags }) => {
      const given = settingsFrom(provider, flags);
      const checked = accepted(provider, checkSettings(provider, given.settings), given);
      const { problems, warnings } = await lookAtIssuers(provider, checked);
      if (problems.length > 0) accepted(provider, { problems }, given);
      const settings = await changeProviderSettings(login_app_id, provider, (current) =>
        accepted(provider, mergeSettings(provider, given, current), given),
      );
      const all = [...warnings, ...warnOfSpaces(checked)];
      return { login_app_id, provider, settings: maskSecrets(settings), warnings: all };
    },
  },
  'providers remove': {
    summary: 'Remove the settings of a provider, or one of its issuers; takes up to 30 seconds',
    flags: { 'login-app': loginApp, provider, issuer: optional(text('Only this issuer')) },
    run: async ({ 'login-app': app, provider, issuer }) => {
      const { login_app_id } = providerOf(app, provider);
      const remaining = await changeProviderSettings(login_app_id, provider, (current) =>
        remainingOf(provider, issuer, current),
      );
      return { login_app_id, provider, settings: remaining ? maskSecrets(remaining) : null };
    },
  },
  'providers check': {
    summary: 'Call a provider with its settings and report what is wrong',
    flags: { 'login-app': loginApp, provider },
    run: async ({ 'login-app': app, provider }) => {
      const { login_app_id, stored } = providerOf(app, provider);
      const checks = await protocolOf(provider).check(stored);
      return { login_app_id, provider, ok: checks.every(({ ok }) => ok), checks };
    },
  },
  'providers subscribe': {
    summary: 'Have a provider send security events to a Login App, or ask it about them',
    flags: {
      'login-app': loginApp,
      provider,
      preset: choice(['google'], 'The provider that has such events'),
      'service-account': secret(
        "A file with the JSON key of a service account of the app's project; - for standard input",
      ),
      verify: onOff('Ask for an event that shows whether they arrive'),
      status: onOff('Show what is registered'),
      'api-url': optional(
        text("Where the provider's API is, if not at Google: the sandbox has one"),
      ),
    },
    example:
      '--login-app "$LOGIN_APP" --provider provider_f --preset google --service-account-file service-account.json --api-url "$API_URL"',
    run: async ({ 'login-app': app, provider, verify, status, ...flags }) => {
      const { login_app_id, stored } = providerOf(app, provider);
      if (verify && status) throw invalid('Give either --verify or --status.');
      const api = v.safeParse(v.optional(providerUrlSchema), flags['api-url']);
      if (!api.success) throw invalid(`--api-url ${api.issues[0].message}.`);
      const events = googleEvents(flags['service-account'], api.output);
      const url = `${issuer()}${notificationsPath.replace('{provider}', provider)}?login_app_id=${login_app_id}`;
      const told = { login_app_id, provider };
      if (verify) return { ...told, requested: true, state: await events.verify() };
      if (status) {
        const shown = await events.show();
        const warnings = shown.url === url ? [] : [`the events go elsewhere than to ${url}`];
        return { ...told, ...shown, warnings };
      }
      await events.register(url);
      const isHeard = settingsOf(provider)
        .issuers(stored.settings)
        .idTokens.some((one) => one.notifications && companyAt(one.issuer) === 'Google');
      const warning =
        'they are rejected until Google has the setting notifications: see providers set';
      return { ...told, registered: true, url, warnings: isHeard ? [] : [warning] };
    },
  },
  'providers show': {
    summary: 'Show the provider settings of a Login App, with secrets masked',
    flags: { 'login-app': loginApp, provider: optional(provider) },
    run: async ({ 'login-app': { login_app_id, providers }, provider }) => {
      const asked = [...providers].filter(([name]) => provider === undefined || name === provider);
      const shown = asked.map(([name, settings]) => [name, maskSecrets(settings)]);
      return { login_app_id, providers: Object.fromEntries(shown) };
    },
  },
});
