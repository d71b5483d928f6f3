import * as v from 'valibot';
import { valueAtPath } from '../schema/value-at-path.ts';
import type { Combined, GivenSettings } from './given-settings.ts';
import { described, textSchema } from './settings-fields.ts';

/** The setting that says to whom the subjects of an OAuth provider belong. */
export const namespace = described(
  v.optional(textSchema),
  'identifies who vouches for the people. Defaults to the previous value or, for a new provider, the host of the address',
);

/** The host of an address, with its port. */
export const hostOf = (address: string): string => new URL(address).host;

/**
 * Keeps the namespace that is stored, so that the provider's people stay the same Login Users. When the host of the
 * address changes, nothing tells a provider that has moved from another provider, so the operator has to say which.
 * @param addressPath where the settings have the address that returns the subject
 */
export const keepNamespace =
  (addressPath: string) =>
  <Settings extends { namespace?: string | undefined }>(
    checked: Settings,
    { settings: given, isPreset, named }: GivenSettings,
    current: object | undefined,
  ): Combined => {
    const known = valueAtPath(current, 'namespace');
    const [before, now] = [current, checked].map((settings) => valueAtPath(settings, addressPath));
    const isGiven = valueAtPath(given, 'namespace') !== undefined;
    const isSaid = isPreset ? named?.namespace !== undefined : isGiven;
    if (isSaid || typeof now !== 'string' || typeof known !== 'string' || known === checked.namespace)
      return { settings: checked };
    // What a preset gives is for a new provider: those who have logged in at a known one are known by its own.
    if (typeof before === 'string' && hostOf(before) === hostOf(now))
      return { settings: { ...checked, namespace: known } };
    if (isGiven) return { settings: checked };
    return {
      problems: [
        `namespace: must be set, since ${addressPath} has another host than before: ${known} keeps the Login Users, ${hostOf(now)} starts with new ones`,
      ],
    };
  };
