import * as v from 'valibot';
import { valueAtPath } from '../schema/value-at-path.ts';
import type { Combined, GivenSettings } from './given-settings.ts';
import { canonicalIssuer, issuerEntries } from './issuer.ts';
import { audiences } from './settings-fields.ts';

/** Settings of an OpenID Connect provider. */
export const oidcSettingsSchema = v.strictObject({
  issuers: v.pipe(
    v.array(v.strictObject({ ...issuerEntries, audiences }), 'must be a list of issuers'),
    v.minLength(1, 'must name at least one issuer'),
    v.maxLength(20, 'must name at most 20 issuers'),
    v.check(
      (issuers) => new Set(issuers.map((one) => one.issuer)).size === issuers.length,
      'must name each issuer once',
    ),
  ),
});
export type OidcSettings = v.InferOutput<typeof oidcSettingsSchema>;

/** Settings replace what was there. A preset adds its issuer, or replaces its audiences and what the operator names; its other settings stay. */
export function combineIssuers(
  checked: OidcSettings,
  { isPreset, named }: GivenSettings,
  current: object | undefined,
): Combined {
  if (!isPreset) return { settings: checked };
  // Otherwise the preset would take the place of all of them.
  if (current && 'issuers' in current && issuersOf(current).length === 0)
    return { problems: ['the stored issuers are no longer valid; give all with --settings'] };
  const issuers = new Map(issuersOf(current).map((known) => [known.issuer, known]));
  for (const added of checked.issuers) {
    const known = issuers.get(added.issuer);
    issuers.set(added.issuer, { ...(known ?? added), audiences: added.audiences, ...named });
  }
  return { settings: { issuers: [...issuers.values()] } };
}

/** The issuers of stored settings; none of settings of another family. They hold nothing that is encrypted. */
export function issuersOf(current: object | undefined): OidcSettings['issuers'] {
  const result = v.safeParse(oidcSettingsSchema, current);
  return result.success ? result.output.issuers : [];
}

/** The issuers of stored settings of any family: their own, and that of a code exchange. */
export function issuerEntriesOf(
  settings: object | undefined,
): { issuer: string; namespace?: string | undefined }[] {
  const ofCodes = v.safeParse(entrySchema, valueAtPath(settings, 'authorization_code.id_token'));
  return [...(ofCodes.success ? [ofCodes.output] : []), ...issuersOf(settings)];
}
const entrySchema = v.object({ issuer: v.string(), namespace: v.optional(v.string()) });

/** The issuers of stored settings that new ones no longer have. */
export function removedIssuers(before: object | undefined, after: object): string[] {
  const kept = issuerEntriesOf(after).map(({ issuer }) => issuer);
  return issuerEntriesOf(before)
    .map(({ issuer }) => issuer)
    .filter((issuer) => !kept.includes(issuer));
}

/** Stored settings without one of their issuers. The last one stays: without any, nobody could log in. */
export function withoutIssuer(current: object | undefined, issuer: string): Combined {
  const issuers = issuersOf(current);
  const removed = canonicalIssuer(issuer);
  const remaining = issuers.filter((known) => known.issuer !== removed);
  if (remaining.length === issuers.length) return { problems: ['they do not have this issuer'] };
  if (remaining.length === 0)
    return { problems: ['this is their only issuer; leave out --issuer to remove them whole'] };
  return { settings: { issuers: remaining } };
}
