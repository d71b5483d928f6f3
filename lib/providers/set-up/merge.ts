import * as v from 'valibot';
import { verificationDeadline } from '../calls/call-provider.ts';
import { explainFailure, ProviderFailure } from '../calls/provider-failure.ts';
import { authorityOf } from '../jwt/issuer.ts';
import { discoverKeys, isElsewhere } from '../jwt/issuer-keys.ts';
import type { KnownIssuer } from '../jwt/issuers-in-settings.ts';
import { keysAddressOf } from '../jwt/known-issuers.ts';
import { standsForIssuer } from '../jwt/tenants.ts';
import { authorizationCodeProvider, type ProviderId } from '../provider-ids.ts';
import { protocolOf } from '../providers.ts';
import type { MergeResult, SettingsInput } from '../settings/input.ts';
import { settingsOf } from '../stored/settings-of.ts';

/** Settings of a provider with their defaults, or every problem they have. */
export function checkSettings(provider: ProviderId, input: unknown): MergeResult {
  const result = v.safeParse(protocolOf(provider).settings, input, { abortPipeEarly: true });
  if (!result.success) return { problems: result.issues.map(problemOf) };
  const settings = result.output;
  if (provider === authorizationCodeProvider || !('authorization_code' in settings))
    return { settings };
  return {
    problems: [
      `authorization_code: only ${authorizationCodeProvider} exchanges authorization codes`,
    ],
  };
}

export function mergeSettings(
  provider: ProviderId,
  input: SettingsInput,
  current: object | undefined,
) {
  const checked = checkSettings(provider, input.settings);
  if ('problems' in checked) return checked;
  const merged = protocolOf(provider).merge(input, current);
  return 'problems' in merged ? merged : checkSettings(provider, merged.settings);
}

/** An issue with its place: `user_info.url: is missing`. */
function problemOf(issue: v.BaseIssue<unknown>): string {
  const place = v.getDotPath(issue) ?? 'settings';
  if (issue.expected === 'never') return `${place}: is not a setting of this provider`;
  if (issue.input === undefined && issue.kind === 'schema') return `${place}: is missing`;
  if (!issue.message.startsWith('Invalid')) return `${place}: ${issue.message}`;
  return `${place}: must be ${issue.expected === 'Object' ? 'a JSON object' : issue.expected}`;
}

const appIdSettings = new Set(['audiences', 'client_id', 'consumer_key']);

/** Warnings about app ids that contain a space, which mostly comes along when an id is copied. */
export const warnOfSpaces = (settings: object): string[] =>
  [...new Set(appIdsIn(settings))]
    .filter((id) => /\s/.test(id))
    .map((id) => `the app id ${JSON.stringify(id)} contains a space. Is it right?`);

function appIdsIn(settings: object): string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (appIdSettings.has(name)) return [value].flat();
    return value instanceof Object ? appIdsIn(value) : [];
  });
}

/**
 * Reads each issuer's discovery document. Keys on another host are a problem, an issuer that is not
 * set up yet a warning.
 */
export async function lookAtIssuers(provider: ProviderId, settings: object) {
  const { idTokens, accessTokens } = settingsOf(provider).issuers(settings);
  const signal = verificationDeadline();
  const findings = await Promise.all(
    [...accessTokens, ...idTokens].map((one) => lookAt(one, signal)),
  );
  return {
    problems: findings.flatMap(({ problem }) => problem ?? []),
    warnings: findings.flatMap(({ warning }) => warning ?? []),
  };
}

async function lookAt(source: KnownIssuer, signal: AbortSignal) {
  if (keysAddressOf(source) !== undefined) return {};
  try {
    const address = await discoverKeys(source.issuer, signal);
    if (!isElsewhere(source.issuer, address)) return {};
    const where = `the keys of ${source.issuer} are on another host: ${address.slice(0, 2_000)}, if you trust it`;
    return { problem: `${source.place}.jwks_uri: must be set, since ${where}` };
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return {
      warning: `nobody can log in with the issuer ${source.issuer} yet. ${explainFailure(error)}`,
    };
  }
}

/**
 * Issuers and their namespaces that new settings no longer have. In another namespace, people are
 * new Login Users.
 */
export function removedIssuers(
  provider: ProviderId,
  before: object | undefined,
  after: object,
): string[] {
  const { issuers } = settingsOf(provider);
  const known = issuers(before ?? {});
  const now = issuers(after);
  const namespaces = new Map(now.idTokens.map((one) => [one.issuer, authorityOf(one)]));
  const ofIdTokens = known.idTokens.flatMap((one) => {
    const isOfTenant = now.idTokens.some((template) => standsForIssuer(template, one.issuer));
    const namespace = namespaces.get(one.issuer) ?? (isOfTenant ? one.issuer : undefined);
    const previous = authorityOf(one);
    if (namespace === undefined) return [`the issuer ${one.issuer}`];
    if (namespace === previous) return [];
    return [`the namespace ${previous} of the issuer ${one.issuer}`];
  });
  const issuersNow = new Set(now.accessTokens.map(({ issuer }) => issuer));
  const ofAccessTokens = known.accessTokens
    .filter(({ issuer }) => !issuersNow.has(issuer))
    .map(({ issuer }) => `the issuer ${issuer}`);
  return [...ofIdTokens, ...ofAccessTokens];
}
