import { hostOf, valueAtPath } from './fields.ts';
import type { MergeResult, SettingsInput } from './input.ts';

/**
 * The namespace of people when none is set: the host of the address that names them, otherwise the
 * issuer.
 */
export function authorityIn(settings: object | undefined) {
  for (const path of ['verify_url', 'user_info.url', issuerPath]) {
    const value = valueAtPath(settings, path);
    if (typeof value === 'string')
      return { path, namespace: path === issuerPath ? value : hostOf(value) };
  }
  return undefined;
}
const issuerPath = 'audience_validation.issuer';

/**
 * Keeps the stored namespace, and so the Login Users. For another host or issuer, the operator must
 * choose one.
 */
export function keepNamespace<Settings extends { namespace?: string | undefined }>(
  checked: Settings,
  { settings: given, named }: SettingsInput,
  current: object | undefined,
): MergeResult {
  const known = valueAtPath(current, 'namespace');
  const now = authorityIn(checked);
  const isGiven = valueAtPath(given, 'namespace') !== undefined;
  const isSaid = named ? named.namespace !== undefined : isGiven;
  if (isSaid || !now || typeof known !== 'string' || known === checked.namespace)
    return { settings: checked };
  // The namespace of a preset is for a new provider.
  if (authorityIn(current)?.namespace === now.namespace)
    return { settings: { ...checked, namespace: known } };
  if (isGiven) return { settings: checked };
  const change =
    now.path === issuerPath ? 'says who the people are now' : 'has another host than before';
  const choice = `${known} keeps the Login Users, ${now.namespace} starts with new ones`;
  return { problems: [`namespace: must be set, since ${now.path} ${change}: ${choice}`] };
}
