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

/** An identity that a provider has just vouched for. */
export interface VerifiedIdentity extends Identity {
  /** The provider's own refresh token, where its settings say that it is kept to be revoked. */
  revocableToken?: string | undefined;
  /** The claims about the person that the settings name; absent when it has told none of them. */
  profile?: Profile | undefined;
  /** The claims about this login that the settings name; absent when the id token has none of them. */
  login_claims?: LoginClaims | undefined;
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

/**
 * A linked identity with what its latest login has written, in attributes of their own: the time, which is absent before
 * the first one, and the profile.
 */
export type LinkedIdentity = v.InferOutput<typeof linkedIdentityItem> & {
  last_login_at?: string | undefined;
  profile?: Profile | undefined;
};

/** The attributes of a Login User that are about one identity. Each login and each linking writes only its own. */
export const identityAttributes = {
  linked: (identityId: string) => `identity_${identityId}` as const,
  lastLogin: (identityId: string) => `last_login_of_${identityId}` as const,
  profile: (identityId: string) => `profile_of_${identityId}` as const,
  /** A refresh token of the provider, kept to be revoked. */
  storedToken: (identityId: string) => `kept_token_of_${identityId}` as const,
};

/** Attributes of linked identities with their types, as they are written. */
export interface IdentityAttributes {
  [linked: ReturnType<typeof identityAttributes.linked>]: LinkedIdentity | string;
  [lastLogin: ReturnType<typeof identityAttributes.lastLogin>]: string;
  /** The profile from the latest login or link: undefined removes the one before. */
  [profile: ReturnType<typeof identityAttributes.profile>]: Profile | undefined;
  [storedToken: ReturnType<typeof identityAttributes.storedToken>]: object;
}

/** Fields of an identity index item: where its identity logs in. That of a Login User who is not deleted has none of them. */
export const identityIndexItem = v.object({
  created_at: v.optional(v.string()),
  next_slot: v.optional(v.string()),
  linked_to: v.optional(v.string()),
  identity_id: v.optional(v.string()),
  deleted_at: v.optional(v.string()),
});

/** The attributes of a Login User that are about a linked identity, but for a provider's token. */
export const attributesWithoutToken = (identityId: string): string[] =>
  [identityAttributes.linked, identityAttributes.lastLogin, identityAttributes.profile].map((nameOf) =>
    nameOf(identityId),
  );

/** Every attribute of a Login User that is about a linked identity. */
export const attributesOf = (identityId: string): string[] =>
  Object.values(identityAttributes).map((nameOf) => nameOf(identityId));

/** The linked identities of a Login User's item. */
export function linkedIdentitiesIn(item: Item): LinkedIdentity[] {
  return Object.entries(item)
    .filter(([name]) => name.startsWith(identityAttributes.linked('')))
    .map(([, value]) => {
      const identity = v.parse(linkedIdentityItem, value);
      const { identity_id: id } = identity;
      return { ...identity, last_login_at: lastLoginOf(item, id), profile: profileOf(item, id) };
    });
}

/** The id of a person's first identity. It tells nothing that the id of the person does not. */
export const firstIdentityId = (loginUserId: string): string =>
  `i_${hashOf('first identity', loginUserId).slice(0, 22)}`;

/** The time of the latest login with an identity, in the item of its Login User. */
export const lastLoginOf = (item: Item, identityId: string): string | undefined =>
  v.parse(v.optional(v.string()), item[identityAttributes.lastLogin(identityId)]);

/** The profile of an identity in the item of its Login User. */
export const profileOf = (item: Item, identityId: string): Profile | undefined =>
  v.parse(v.optional(profileSchema), item[identityAttributes.profile(identityId)]);
