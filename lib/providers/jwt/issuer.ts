import * as v from 'valibot';
import { loginClaimsSchema } from '../../login-users/linked-identity.ts';
import { hashOf } from '../../storage/keys.ts';
import { audiences, oneOf, profile, providerUrlSchema, textSchema } from '../settings/fields.ts';
import { hasPlainBraces, isTemplate, tenantsSchema } from './tenants.ts';

/**
 * Google's issuer in some of its id tokens, and in its security event tokens.
 * @see https://developers.google.com/identity/sign-in/web/backend-auth,
 *   https://developers.google.com/identity/protocols/risc
 */
const otherSpellings = new Map([
  ['accounts.google.com', 'https://accounts.google.com'],
  ['https://accounts.google.com/', 'https://accounts.google.com'],
]);

/** The spelling of an issuer that settings and namespaces have. */
export const canonicalIssuer = (issuer: string): string => otherSpellings.get(issuer) ?? issuer;

/** Every spelling of an issuer that a token may have. */
export const spellingsOf = (issuer: string): string[] =>
  [issuer, ...otherSpellings.keys()].filter((spelling) => canonicalIssuer(spelling) === issuer);

/** The namespace of an issuer's people: the issuer itself, unless its settings name another. */
export const authorityOf = ({
  issuer,
  namespace = issuer,
}: Pick<TrustedIssuer, 'issuer' | 'namespace'>) => namespace;

/** Actions on a person after a notification of Apple. */
const actionsSchema = oneOf(['end_sessions', 'delete']);

const endOrNot = oneOf(['end_sessions', 'nothing']);
const endOrDelete = oneOf(['end_sessions', 'nothing', 'delete']);
/** The action on a person about whom a provider reports something. */
export type Action = v.InferOutput<typeof endOrDelete>;

/**
 * Settings of what an issuer may report, and what happens then. Without them, its messages are
 * rejected.
 */
export const notificationEntries = {
  audiences: v.optional(audiences),
  on_account_disabled: v.optional(endOrNot),
  on_account_purged: v.optional(endOrDelete),
  on_sessions_revoked: v.optional(endOrNot),
  on_tokens_revoked: v.optional(endOrNot),
  on_credential_change: v.optional(endOrNot),
  on_unlinked: v.optional(endOrDelete),
  on_logout: v.optional(endOrNot),
};

/** Settings of a trusted issuer, besides its audiences. */
export const issuerEntries = {
  issuer: v.pipe(
    textSchema,
    v.transform(canonicalIssuer),
    providerUrlSchema,
    v.check(hasPlainBraces, 'may have braces only in one part of its path, as {tenantid}'),
  ),
  tenants: v.optional(tenantsSchema),
  namespace: v.optional(textSchema),
  jwks_uri: v.optional(providerUrlSchema),
  nonce: v.optional(oneOf(['optional', 'required']), 'optional'),
  /** The form in which its id tokens carry the nonce of a login. */
  nonce_form: v.optional(oneOf(['plain', 'sha256', 'either'])),
  max_age_seconds: v.optional(
    v.message(
      v.pipe(v.number(), v.integer(), v.minValue(60), v.maxValue(2_592_000)),
      'must be an integer from 60 to 2592000',
    ),
  ),
  profile,
  login_claims: v.optional(
    v.array(v.keyof(loginClaimsSchema, 'must be acr or amr'), 'must be a list of acr and amr'),
  ),
  hook_claims: v.optional(
    v.pipe(
      v.array(textSchema, 'must be a list of claims'),
      v.maxLength(50, 'must list at most 50'),
    ),
  ),
  on_consent_revoked: v.optional(actionsSchema),
  on_account_deleted: v.optional(actionsSchema),
  notifications: v.optional(v.strictObject(notificationEntries)),
};

/** The issuer of tokens that do not say by a `tid` whose they are. */
export const issuerOfOneTenant = v.pipe(
  issuerEntries.issuer,
  v.check((issuer) => !isTemplate(issuer), 'must be the issuer of one tenant'),
);

type IssuerSettings = v.InferOutput<v.ObjectSchema<typeof issuerEntries, undefined>>;

/**
 * Checks the settings of an issuer together. One that stands for many tenants has their common
 * keys, and people of each tenant in a namespace of its own.
 */
export const tenantRules = <Settings extends Partial<IssuerSettings>>() =>
  v.rawCheck<Settings>(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { issuer = '', tenants, namespace, jwks_uri } = dataset.value;
    if (isTemplate(issuer)) {
      if (jwks_uri === undefined)
        addIssue({ message: 'needs jwks_uri, since its issuer has {tenantid}' });
      if (namespace !== undefined)
        addIssue({ message: 'can have no namespace, since its issuer has {tenantid}' });
    } else if (tenants !== undefined) {
      addIssue({ message: 'can have tenants only if its issuer has {tenantid}' });
    }
  });

/** An issuer, and the apps whose id tokens count. */
export type TrustedIssuer = IssuerSettings & {
  audiences: string[];
  template?: string | undefined;
};

/**
 * The hash of an issuer's session by its `sid`, undefined for none.
 * @see OpenID Connect Back-Channel Logout 1.0, section 2.1
 */
export const providerSessionOf = (
  { issuer }: Pick<TrustedIssuer, 'issuer'>,
  sid: unknown,
): string | undefined => {
  // The hash of half a surrogate pair is that of any other.
  const isUsable = typeof sid === 'string' && sid !== '' && sid.isWellFormed();
  return isUsable ? hashOf(issuer, sid) : undefined;
};
