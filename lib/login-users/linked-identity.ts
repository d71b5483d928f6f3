import * as v from 'valibot';
import type { Item } from '../storage/items.ts';
import { hashOf } from '../storage/keys.ts';
import { type Profile, profileSchema } from './profile.ts';

/** A person, as whoever vouches for them knows them. */
export interface Identity {
  /** The authority that vouches: the issuer of an id token, or the `namespace` of an OAuth provider's settings. */
  namespace: string;
  /** Their id of the person. */
  subject: string;
}

const claimText = v.pipe(v.string(), v.nonEmpty(), v.maxLength(255));

/**
 * Claims about how a person logged in at their provider: the authentication context class, and the methods.
 * @see OpenID Connect Core 1.0, section 2; RFC 9068, section 2.2.1
 */
export const loginClaims = {
  acr: v.exactOptional(v.pipe(claimText, v.description('The `acr` of the id token of the login.'))),
  amr: v.exactOptional(
    v.pipe(
      v.array(claimText),
      v.maxLength(20),
      v.description('The `amr` of the id token of the login: how the person was authenticated.'),
    ),
  ),
};
export const loginClaimsSchema = v.object(loginClaims);
export type LoginClaims = v.InferOutput<typeof loginClaimsSchema>;

/** A refresh token of a provider. */
export interface RevocableToken {
  text: string;
  /** The issuer whose settings say where it is revoked; absent where the provider has one place for all. */
  issuer?: string | undefined;
}

/** An identity that a provider has just vouched for. */
export interface VerifiedIdentity extends Identity {
  /** The provider's own refresh token, where its settings say that it is kept to be revoked. */
  revocableToken?: RevocableToken | undefined;
  /** Whether the code that came along with an id token gave a token to revoke; absent where none came, or none is taken. */
  code?: 'exchanged' | 'not_exchanged';
  /** The claims about the person that the settings name; absent when it has told none of them. */
  profile?: Profile | undefined;
  /** Claims that the app told of the person. Nothing vouches for them, so nothing may be decided by them. */
  told_by_app?: Profile | undefined;
  /** The claims about this login that the settings name; absent when the id token has none of them. */
  login_claims?: LoginClaims | undefined;
  /** The hash of the provider's session, where its settings say that it may end it here. */
  provider_session?: string | undefined;
  /** The claims of the id token that the settings list for the login hook. They are stored nowhere. */
  hook_claims?: Record<string, unknown> | undefined;
}

const linkedIdentityItem = v.object({
  identity_id: v.string(),
  /** The id of its identity index item, which leads to the Login User. */
  slot: v.string(),
  provider: v.string(),
  namespace: v.string(),
  subject: v.string(),
  linked_at: v.string(),
});

/** A linked identity with what its logins have written. */
export type LinkedIdentity = v.InferOutput<typeof linkedIdentityItem> & IdentityDetails;

/** The attributes of a Login User that are about one identity. Each login and each linking writes only its own. */
export const identityAttributes = {
  linked: (identityId: string) => `identity_${identityId}` as const,
  lastLogin: (identityId: string) => `last_login_of_${identityId}` as const,
  profile: (identityId: string) => `profile_of_${identityId}` as const,
  toldByApp: (identityId: string) => `told_by_app_of_${identityId}` as const,
  /** Whether the latest code was not exchanged. */
  codeFailed: (identityId: string) => `code_failed_of_${identityId}` as const,
  /** A refresh token of the provider, kept to be revoked. */
  storedToken: (identityId: string) => `kept_token_of_${identityId}` as const,
};

/** Attributes of linked identities with their types, as they are written. */
export interface IdentityAttributes {
  [linked: ReturnType<typeof identityAttributes.linked>]: LinkedIdentity | string;
  [lastLogin: ReturnType<typeof identityAttributes.lastLogin>]: string;
  /** The profile from the latest login or link: undefined removes the one before. */
  [profile: ReturnType<typeof identityAttributes.profile>]: Profile | undefined;
  /** The claims that the app told last. */
  [told: ReturnType<typeof identityAttributes.toldByApp>]: Profile;
  [failed: ReturnType<typeof identityAttributes.codeFailed>]: true | undefined;
  [storedToken: ReturnType<typeof identityAttributes.storedToken>]: object;
}

/** Fields of an identity index item: where its identity logs in. That of a Login User who is not deleted has none of them. */
export const identityIndexItem = v.object({
  created_at: v.optional(v.string()),
  external_id: v.optional(v.string()),
  next_slot: v.optional(v.string()),
  linked_to: v.optional(v.string()),
  identity_id: v.optional(v.string()),
  deleted_at: v.optional(v.string()),
});

/** Every attribute of a Login User that is about an identity. */
export const attributesOf = (identityId: string): string[] =>
  Object.values(identityAttributes).map((nameOf) => nameOf(identityId));

/** The attributes of a Login User that are about an identity, but for a provider's token. */
export const attributesWithoutToken = (identityId: string): string[] =>
  attributesOf(identityId).filter((name) => name !== identityAttributes.storedToken(identityId));

/**
 * Attributes that a login or a link with an identity writes of what was said about the person. What the app told stays until
 * it tells something else: Apple hands it over once.
 */
export function attributesSaid(
  identityId: string,
  { profile, told_by_app, code }: VerifiedIdentity,
): IdentityAttributes {
  const said: IdentityAttributes = {};
  said[identityAttributes.profile(identityId)] = profile;
  if (told_by_app) said[identityAttributes.toldByApp(identityId)] = told_by_app;
  if (code) said[identityAttributes.codeFailed(identityId)] = code === 'not_exchanged' ? true : undefined;
  return said;
}

/** The linked identities of a Login User's item. */
export function linkedIdentitiesIn(item: Item): LinkedIdentity[] {
  return Object.entries(item)
    .filter(([name]) => name.startsWith(identityAttributes.linked('')))
    .map(([, value]) => {
      const identity = v.parse(linkedIdentityItem, value);
      return { ...identity, ...identityDetails(item, identity.identity_id) };
    });
}

/** The id of a person's first identity. It tells nothing that the id of the person does not. */
export const firstIdentityId = (loginUserId: string): string =>
  `i_${hashOf('first identity', loginUserId).slice(0, 22)}`;

/** Details of an identity that its logins have written, in attributes of the Login User's item. */
export interface IdentityDetails {
  /** Absent before the first login. */
  last_login_at?: string | undefined;
  profile?: Profile | undefined;
  told_by_app?: Profile | undefined;
  /** False when the latest code was not exchanged, and no earlier one has left a token to revoke. */
  provider_revocation?: false | undefined;
}

const timeSchema = v.optional(v.string());
const storedProfile = v.optional(profileSchema);

/** The details of an identity in the item of its Login User. */
export function identityDetails(item: Item, identityId: string): IdentityDetails {
  const names = identityAttributes;
  const isFailed = item[names.codeFailed(identityId)] === true;
  return {
    last_login_at: v.parse(timeSchema, item[names.lastLogin(identityId)]),
    profile: v.parse(storedProfile, item[names.profile(identityId)]),
    told_by_app: v.parse(storedProfile, item[names.toldByApp(identityId)]),
    provider_revocation: isFailed && !item[names.storedToken(identityId)] ? false : undefined,
  };
}
