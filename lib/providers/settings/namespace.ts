import * as v from 'valibot';
import { valueAtPath } from '../../schema/value-at-path.ts';
import type { MergeResult, SettingsInput } from '../protocol.ts';
import { described, textSchema } from './fields.ts';

/** The setting that says to whom the subjects of an OAuth provider belong. */
export const namespace = described(
  v.optional(textSchema),
  'identifies who vouches for the people. Defaults to the previous value or, for a new provider, the host of the address',
);

/** The host of an address, with its port. */
export const hostOf = (address: string): string => new URL(address).host;

/** A setting that says who vouches for the people when no namespace is set. */
interface Authority {
  /** The setting's place, such as `user_info.url`. */
  path: string;
  namespaceOf: (value: string) => string;
  /** A new value's effect, for the operator. */
  change: string;
}

/** The host at an address, which vouches for the people whom it names. */
export const hostAt = (path: string): Authority => ({
  path,
  namespaceOf: hostOf,
  change: 'has another host than before',
});

/** The issuer at a path, which vouches for the subjects of its own tokens alone. @see RFC 7519 section 4.1.2 */
export const issuerAt = (path: string): Authority => ({
  path,
  namespaceOf: (issuer) => issuer,
  change: 'vouches for the people now',
});

/**
 * Keeps the namespace that is stored, so that the provider's people stay the same Login Users. When another host or
 * issuer vouches for them, nothing tells a provider that has moved from another provider, so the operator has to say which.
 * @param authorities of which the first one that is set counts
 */
export const keepNamespace = (...authorities: Authority[]) => {
  const defaultOf = (settings: object | undefined) => {
    for (const { path, namespaceOf, change } of authorities) {
      const value = valueAtPath(settings, path);
      if (typeof value === 'string') return { path, change, namespace: namespaceOf(value) };
    }
    return undefined;
  };
  return <Settings extends { namespace?: string | undefined }>(
    checked: Settings,
    { settings: given, isPreset, named }: SettingsInput,
    current: object | undefined,
  ): MergeResult => {
    const known = valueAtPath(current, 'namespace');
    const [before, now] = [defaultOf(current), defaultOf(checked)];
    const isGiven = valueAtPath(given, 'namespace') !== undefined;
    const isSaid = isPreset ? named?.namespace !== undefined : isGiven;
    if (isSaid || !now || typeof known !== 'string' || known === checked.namespace)
      return { settings: checked };
    // What a preset gives is for a new provider: those who have logged in at a known one are known by its own.
    if (before?.namespace === now.namespace) return { settings: { ...checked, namespace: known } };
    if (isGiven) return { settings: checked };
    return {
      problems: [
        `namespace: must be set, since ${now.path} ${now.change}: ${known} keeps the Login Users, ${now.namespace} starts with new ones`,
      ],
    };
  };
};
