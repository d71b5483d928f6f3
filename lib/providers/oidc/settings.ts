import * as v from 'valibot';
import { valueAtPath } from '../../schema/value-at-path.ts';
import type { MergeResult, SettingsInput } from '../protocol.ts';
import { audiences } from '../settings/fields.ts';
import { authorityOf, canonicalIssuer, issuerEntries } from './issuer.ts';

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
type OidcSettings = v.InferOutput<typeof oidcSettingsSchema>;

/** Settings replace what was there. A preset adds its issuer, or replaces its audiences and what the operator names; its other settings stay. */
export function mergeIssuers(
  checked: OidcSettings,
  { isPreset, named }: SettingsInput,
  current: object | undefined,
): MergeResult {
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

/** The issuers of stored settings; none of settings of another protocol. They hold nothing that is encrypted. */
function issuersOf(current: object | undefined): OidcSettings['issuers'] {
  const result = v.safeParse(oidcSettingsSchema, current);
  return result.success ? result.output.issuers : [];
}

/** The issuers of stored settings of any protocol: their own, and that of a code exchange. */
export function issuerEntriesOf(settings: object | undefined): v.InferOutput<typeof entrySchema>[] {
  const ofCodes = v.safeParse(entrySchema, valueAtPath(settings, 'authorization_code.id_token'));
  return [...(ofCodes.success ? [ofCodes.output] : []), ...issuersOf(settings)];
}
const entrySchema = v.object({ issuer: v.string(), namespace: v.optional(v.string()) });

/**
 * Names of what stored settings have of issuers and new ones no longer: an issuer, or the namespace in which it vouches
 * for its people, who are new Login Users in another one.
 */
export function removedIssuers(before: object | undefined, after: object): string[] {
  const authorities = new Map(issuerEntriesOf(after).map((entry) => [entry.issuer, authorityOf(entry)]));
  const ofIdTokens = issuerEntriesOf(before).flatMap((entry) => {
    const [now, known] = [authorities.get(entry.issuer), authorityOf(entry)];
    if (now === undefined) return [`the issuer ${entry.issuer}`];
    return now === known ? [] : [`the namespace ${known} of the issuer ${entry.issuer}`];
  });
  const [known, now] = [before, after].map((one) => valueAtPath(one, 'audience_validation.issuer'));
  return [...ofIdTokens, ...(typeof known === 'string' && known !== now ? [`the issuer ${known}`] : [])];
}

/** Stored settings without one of their issuers. The last one stays: without any, nobody could log in. */
export function withoutIssuer(current: object | undefined, issuer: string): MergeResult {
  const issuers = issuersOf(current);
  const removed = canonicalIssuer(issuer);
  const remaining = issuers.filter((known) => known.issuer !== removed);
  if (remaining.length === issuers.length) return { problems: ['they do not have this issuer'] };
  if (remaining.length === 0)
    return { problems: ['this is their only issuer; leave out --issuer to remove them whole'] };
  return { settings: { issuers: remaining } };
}
