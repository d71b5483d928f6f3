import * as v from 'valibot';
import { definedOnly } from '../foundation/defined-only.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import type { Item } from '../storage/items.ts';
import { hashOf } from '../storage/keys.ts';
import { type Profile, profileSchema } from './profile.ts';

export interface Identity {
  /**
   * The authority in which a subject is one person: the issuer of an id token, or the `namespace`
   * of an OAuth provider's settings.
   */
  namespace: string;
  subject: string;
}

const claimText = v.pipe(
  v.string(),
  v.nonEmpty(),
  v.maxLength(255),
  // DynamoDB takes no half of a surrogate pair.
  v.check((text) => text.isWellFormed()),
  jsonSchema({ type: 'string', minLength: 1, maxLength: 255 }),
);

/**
 * How a person logged in at their provider.
 * @see OpenID Connect Core 1.0, section 2; RFC 9068, section 2.2.1
 */
export const loginClaimsSchema = v.object({
  acr: v.exactOptional(v.pipe(claimText, v.description('The `acr` of the id token of the login.'))),
  amr: v.exactOptional(
    v.pipe(
      v.array(claimText),
      v.maxLength(20),
      v.description('The `amr` of the id token of the login: how the person was authenticated.'),
    ),
  ),
});
export type LoginClaims = v.InferOutput<typeof loginClaimsSchema>;

/**
 * The access to a provider that a person has given the company's servers, until the provider or the
 * person ends it.
 */
export interface ProviderAccess {
  /**
   * The host of the token endpoint that gave it. If settings name another one later, they are those
   * of another provider, which must not get the tokens.
   */
  host: string;
  /** Absent if it is too long to be stored. */
  access_token?: string | undefined;
  /** Epoch seconds at which the access token was asked for, by the clock that its end is by. */
  issued_at: number;
  /** Epoch seconds at which the access token expires. */
  expires_at: number;
  /** Absent if the provider has not told them. */
  scopes?: string[] | undefined;
  /** When the person gave it: by the login or the link that the refresh token came with. */
  since: string;
}

/**
 * A provider's refresh token, which is stored to be revoked when the identity is no longer theirs, or
 * to get access tokens for the company's servers.
 */
export interface ProviderToken {
  text: string;
  /** Present where the settings keep the token for the company's servers. */
  access?: ProviderAccess | undefined;
  /**
   * The issuer whose settings name the revocation endpoint; absent where the provider has only one.
   */
  issuer?: string | undefined;
}

/** An identity that a provider has just verified. */
export interface VerifiedIdentity extends Identity {
  /**
   * Whether the code that came with an id token gave a token to revoke; absent if there was no
   * code, or none is exchanged.
   */
  code?: 'exchanged' | 'not_exchanged';
  /** The claims that the settings name. */
  profile?: Profile | undefined;
  /** Claims from the app. No provider has verified them, so they must decide nothing. */
  told_by_app?: Profile | undefined;
  login_claims?: LoginClaims | undefined;
  /** Epoch seconds at which the person authenticated at the provider, if it tells. */
  auth_time?: number | undefined;
  /** Epoch seconds at which the session at the provider ends, if it tells. */
  session_end?: number | undefined;
  /** The hash of the provider's session, if the provider may end ours. */
  provider_session?: string | undefined;
  /** Claims of the id token for the login hook, as the settings list them. Never stored. */
  hook_claims?: Record<string, unknown> | undefined;
}

const storedIdentitySchema = v.object({
  identity_id: v.string(),
  /**
   * The id of the identity index item that leads to the Login User; absent for their first
   * identity.
   */
  slot: v.exactOptional(v.string()),
  provider: v.string(),
  namespace: v.string(),
  subject: v.string(),
  linked_at: v.string(),
});
export type StoredIdentity = v.InferOutput<typeof storedIdentitySchema>;

export type UserIdentity = StoredIdentity & ReturnType<typeof identityDetails>;

/**
 * The attributes of a Login User that are about one identity: a login or a link writes only those
 * of its own.
 */
export const identityAttributes = {
  linked: (identityId: string) => `identity_${identityId}` as const,
  lastLogin: (identityId: string) => `last_login_of_${identityId}` as const,
  profile: (identityId: string) => `profile_of_${identityId}` as const,
  toldByApp: (identityId: string) => `told_by_app_of_${identityId}` as const,
  codeFailed: (identityId: string) => `code_failed_of_${identityId}` as const,
  providerToken: (identityId: string) => `kept_token_of_${identityId}` as const,
  /** Epoch seconds until which one request may refresh the provider's token, and no other. */
  refreshUntil: (identityId: string) => `refresh_until_of_${identityId}` as const,
};

export type IdentityAttributes = {
  [linked: ReturnType<typeof identityAttributes.linked>]: StoredIdentity | string;
  [lastLogin: ReturnType<typeof identityAttributes.lastLogin>]: string;
  [profile: ReturnType<typeof identityAttributes.profile>]: Profile | undefined;
  [told: ReturnType<typeof identityAttributes.toldByApp>]: Profile;
  [failed: ReturnType<typeof identityAttributes.codeFailed>]: true | undefined;
  [token: ReturnType<typeof identityAttributes.providerToken>]: object | undefined;
  [refresh: ReturnType<typeof identityAttributes.refreshUntil>]: number | undefined;
};

/** An identity index item: where its identity logs in. */
export const identityIndexItem = v.object({
  created_at: v.optional(v.string()),
  external_id: v.optional(v.string()),
  blocked_at: v.optional(v.string()),
  next_slot: v.optional(v.string()),
  linked_to: v.optional(v.string()),
  identity_id: v.optional(v.string()),
  deleted_at: v.optional(v.string()),
});

/**
 * The attributes of a Login User about one identity, but for the provider's token, which stays
 * until it is revoked.
 */
export const attributesWithoutToken = (identityId: string): string[] =>
  Object.values(identityAttributes)
    .filter((nameOf) => nameOf !== identityAttributes.providerToken)
    .map((nameOf) => nameOf(identityId));

/**
 * The identities of a Login User: the first one, unless it was unlinked, then the others in the
 * order of linking.
 */
export function identitiesIn(item: Item): UserIdentity[] {
  const linked = linkedIdentitiesIn(item);
  const first = firstIdentityIn(item);
  return first ? [first, ...linked] : linked;
}

function linkedIdentitiesIn(item: Item): UserIdentity[] {
  const stored = Object.entries(item)
    .filter(([attribute]) => attribute.startsWith(identityAttributes.linked('')))
    .map(([, value]) => v.parse(storedIdentitySchema, value))
    .toSorted((a, b) => (a.linked_at < b.linked_at ? -1 : 1));
  return stored.map((identity) => ({
    ...identity,
    ...identityDetails(item, identity.identity_id),
  }));
}

/** The identity that created a person; undefined if it was unlinked. */
function firstIdentityIn(item: Item): UserIdentity | undefined {
  if (item.subject === undefined) return undefined;
  const identity_id = firstIdentityId(String(item.login_user_id));
  const stored = { ...item, identity_id, linked_at: item.created_at };
  const details = identityDetails(item, identity_id);
  // People who last logged in before several identities were possible used the first.
  if (!item.imported_at) {
    const lastLogin = v.parse(detailsSchema.entries.last_login_at, item.last_login_at);
    details.last_login_at ??= lastLogin;
  }
  return { ...v.parse(storedIdentitySchema, stored), ...details };
}

export const firstIdentityId = (loginUserId: string): string =>
  `i_${hashOf('first identity', loginUserId).slice(0, 22)}`;

const detailsSchema = v.object({
  /** Absent before the first login. */
  last_login_at: v.optional(v.string()),
  profile: v.optional(profileSchema),
  told_by_app: v.optional(profileSchema),
});

/**
 * The access that a stored provider token gives, as far as it is no secret; undefined for a token
 * that is stored to be revoked alone.
 */
const storedAccessSchema = v.pipe(
  v.optional(v.object({ since: v.optional(v.string()), scopes: v.optional(v.array(v.string())) })),
  v.transform((stored) => {
    if (stored?.since === undefined) return undefined;
    return definedOnly({ scopes: stored.scopes, since: stored.since });
  }),
);

/** The access to a provider that is kept with an identity; undefined for none. */
export const providerAccessIn = (item: Item, identityId: string) =>
  v.parse(storedAccessSchema, item[identityAttributes.providerToken(identityId)]);

/** Details of an identity, from the item of its Login User. */
export function identityDetails(item: Item, identityId: string) {
  const names = identityAttributes;
  const details = v.parse(detailsSchema, {
    last_login_at: item[names.lastLogin(identityId)],
    profile: item[names.profile(identityId)],
    told_by_app: item[names.toldByApp(identityId)],
  });
  const hasFailed = item[names.codeFailed(identityId)] === true;
  const hasToken = item[names.providerToken(identityId)] !== undefined;
  /** False when the latest code was not exchanged and there is no earlier token to revoke. */
  const provider_revocation = hasFailed && !hasToken ? (false as const) : undefined;
  return { ...details, provider_revocation, provider_access: providerAccessIn(item, identityId) };
}
