import * as v from 'valibot';
import { loginClaimsSchema } from '../../login-users/linked-identity.ts';
import { described } from '../../schema/json-schema.ts';
import { audiences, profile, providerUrlSchema, textSchema } from '../settings/fields.ts';

/**
 * Google's id tokens name their issuer in one of two ways, and its security event tokens in a third.
 * @see https://developers.google.com/identity/sign-in/web/backend-auth, https://developers.google.com/identity/protocols/risc
 */
const otherSpellings = new Map([
  ['accounts.google.com', 'https://accounts.google.com'],
  ['https://accounts.google.com/', 'https://accounts.google.com'],
]);

/** The one spelling under which an issuer is known here. */
export const canonicalIssuer = (issuer: string): string => otherSpellings.get(issuer) ?? issuer;

/** Every spelling of an issuer that a token may have. */
export const spellingsOf = (issuer: string): string[] => [
  issuer,
  ...[...otherSpellings].filter(([, canonical]) => canonical === issuer).map(([spelling]) => spelling),
];

/** The namespace of an issuer's people: the issuer itself, unless its settings name another. */
export const authorityOf = ({ issuer, namespace = issuer }: Pick<TrustedIssuer, 'issuer' | 'namespace'>) =>
  namespace;

/** Seconds for which an id token counts at most, unless the settings of its issuer say otherwise. */
export const defaultMaxAge = 86_400;

/** The action on a person of whom Apple tells something. */
export const actionsSchema = v.picklist(['end_sessions', 'delete'], 'must be end_sessions or delete');

export const nonceRuleSchema = v.picklist(['optional', 'required'], 'must be optional or required');
const nonceFormSchema = v.picklist(['plain', 'sha256', 'either'], 'must be plain, sha256 or either');
/** The form in which an issuer's id tokens carry the nonce of a login. */
export type NonceForm = v.InferOutput<typeof nonceFormSchema>;

const maxAgeRule = 'must be an integer from 60 to 2592000';

export const issuerOf = (tokens: string) =>
  v.pipe(
    described(
      textSchema,
      `the \`iss\` of its ${tokens}. Without \`jwks_uri\`, \`/.well-known/openid-configuration\` below it leads to the keys, which must be on the same host`,
    ),
    v.transform(canonicalIssuer),
    providerUrlSchema,
  );

const endOrNot = v.picklist(['end_sessions', 'nothing'], 'must be end_sessions or nothing');
const endOrDelete = v.picklist(
  ['end_sessions', 'nothing', 'delete'],
  'must be end_sessions, nothing or delete',
);
/** The action on a person of whom a provider tells something. */
export type Action = v.InferOutput<typeof endOrDelete>;

/** Settings of what an issuer may tell, and what happens then. Without them, it is not listened to. */
export const notificationEntries = {
  audiences: described(
    v.optional(audiences),
    'the `aud` of its security events and logout tokens; your app ids when left out',
  ),
  on_account_disabled: described(
    v.optional(endOrNot),
    'what happens when the account is disabled, as when it was hijacked: `end_sessions`, also when left out, or `nothing`',
  ),
  on_account_purged: described(v.optional(endOrDelete), 'when it is deleted: these, or `delete` the person'),
  on_sessions_revoked: described(v.optional(endOrNot), 'when its sessions are revoked'),
  on_tokens_revoked: described(v.optional(endOrNot), 'when its tokens are revoked'),
  on_credential_change: described(
    v.optional(endOrNot),
    'when a credential or an address changes, is to change, or is compromised; `nothing` when left out, unless it is compromised',
  ),
  on_unlinked: described(v.optional(endOrDelete), 'when a person unlinked your app: these, or `delete`'),
  on_logout: described(v.optional(endOrNot), 'when the person logs out there'),
};

/** The settings that any trusted issuer has, besides its audiences. */
export const issuerEntries = {
  issuer: issuerOf('id tokens'),
  namespace: described(
    v.optional(textSchema),
    'identifies who vouches for the people, where another provider knows them by the same ids; the issuer when left out',
  ),
  jwks_uri: described(
    v.optional(providerUrlSchema),
    'where its keys are, which saves the discovery; needed when they are on another host',
  ),
  nonce: described(
    v.optional(nonceRuleSchema, 'optional'),
    'whether a login must send the `nonce` of its id token',
  ),
  nonce_form: described(
    v.optional(nonceFormSchema),
    'the form in which its id tokens carry the nonce: `plain`, `sha256` (in hex or base64url), or `either`, also when left out. With `sha256`, the hash itself does not count as the nonce',
  ),
  max_age_seconds: described(
    v.optional(
      v.pipe(
        v.number(maxAgeRule),
        v.check((age) => Number.isInteger(age) && age >= 60 && age <= 2_592_000, maxAgeRule),
      ),
    ),
    `the seconds since its \`iat\` for which an id token is accepted, unless it expires earlier; ${defaultMaxAge} when left out. One that is valid for more than this, and for more than a day, is rejected`,
  ),
  profile,
  login_claims: described(
    v.optional(v.array(v.keyof(loginClaimsSchema, 'must be acr or amr'), 'must be a list of acr and amr')),
    'which of `acr` and `amr` the tokens of a session have, as its login had them; a list, none when left out',
  ),
  hook_claims: described(
    v.optional(
      v.pipe(v.array(textSchema, 'must be a list of claims'), v.maxLength(50, 'must list at most 50')),
    ),
    'the claims of its id tokens that the [login hook](login-hook.md) is told; a list, none when left out',
  ),
  on_consent_revoked: described(
    v.optional(actionsSchema),
    'what to do when the issuer says that a person revoked their consent: `end_sessions`, also when left out, or `delete` the person',
  ),
  on_account_deleted: described(
    v.optional(actionsSchema),
    'the same when the person deleted their account at the issuer',
  ),
  notifications: v.optional(v.strictObject(notificationEntries)),
};

/** An issuer, and the apps whose id tokens count. */
export type TrustedIssuer = v.InferOutput<v.ObjectSchema<typeof issuerEntries, undefined>> & {
  audiences: string[];
};
