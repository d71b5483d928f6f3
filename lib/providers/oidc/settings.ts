import * as v from 'valibot';
import { definedOnly } from '../../foundation/defined-only.ts';
import { issuerExchangeSchema } from '../codes/settings.ts';
import { canonicalIssuer, issuerEntries, tenantRules } from '../jwt/issuer.ts';
import { audiences, claimPaths } from '../settings/fields.ts';
import type { MergeResult, SettingsInput } from '../settings/input.ts';

const issuerSchema = v.pipe(
  v.strictObject({
    ...issuerEntries,
    audiences,
    code_exchange: v.optional(issuerExchangeSchema),
    // Not `email_verified`: an app can't know that.
    user_profile: claimPaths(['email', 'name', 'given_name', 'family_name']),
  }),
  tenantRules(),
);

export type Issuer = v.InferOutput<typeof issuerSchema>;

export const oidcSettingsSchema = v.strictObject({
  issuers: v.pipe(
    v.array(issuerSchema, 'must be a list of issuers'),
    v.minLength(1, 'must name at least one issuer'),
    v.maxLength(20, 'must name at most 20 issuers'),
    v.check(
      (issuers) => new Set(issuers.map((one) => one.issuer)).size === issuers.length,
      'must name each issuer once',
    ),
  ),
});

/**
 * Settings replace the stored ones. A preset adds its issuer, or changes some settings of that
 * issuer.
 */
export function mergeIssuers(
  checked: v.InferOutput<typeof oidcSettingsSchema>,
  { named }: SettingsInput,
  current: object | undefined,
): MergeResult {
  if (!named) return { settings: checked };
  // The preset would replace all of them.
  if (current && 'issuers' in current && issuersOf(current).length === 0)
    return { problems: ['the stored issuers are no longer valid; give all with --settings'] };
  const issuers = new Map(issuersOf(current).map((known) => [known.issuer, known]));
  for (const added of checked.issuers) {
    const known = issuers.get(added.issuer);
    const { audiences, tenants, code_exchange, user_profile, notifications } = added;
    const replaced = definedOnly({
      audiences,
      tenants,
      code_exchange,
      user_profile,
      notifications,
    });
    issuers.set(added.issuer, { ...(known ?? added), ...replaced, ...named });
  }
  return { settings: { issuers: [...issuers.values()] } };
}

/** Stored issuers with all of their settings; none if any is no longer valid. */
const issuersOf = (current: object | undefined) =>
  v.parse(v.fallback(oidcSettingsSchema, { issuers: [] }), current).issuers;

/** Stored settings without one of their issuers, which may not be the last. */
export function withoutIssuer(current: object | undefined, issuer: string): MergeResult {
  const issuers = issuersOf(current);
  const remaining = issuers.filter((known) => known.issuer !== canonicalIssuer(issuer));
  if (remaining.length === issuers.length) return { problems: ['they do not have this issuer'] };
  if (remaining.length === 0)
    return { problems: ['this is their only issuer; leave out --issuer to remove them whole'] };
  return { settings: { issuers: remaining } };
}
