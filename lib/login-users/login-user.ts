import { randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import { type Item, type ItemKey, readItem } from '../storage/items.ts';
import { hashOf, loginUserKey, loginUsersOfLoginAppShard } from '../storage/keys.ts';
import { probeIds } from '../storage/probe-ids.ts';
import { shardNumberOf, shards } from '../storage/table.ts';
import {
  type Identity,
  type IdentityAttributes,
  identitiesIn,
  type identityIndexItem,
  type LoginClaims,
  type UserIdentity,
} from './linked-identity.ts';
import { lastSessionIdOf, sessionsOfPerson } from './sessions-of-person.ts';

const loginUserSchema = v.object({
  login_user_id: v.string(),
  login_app_id: v.string(),
  /** The first identity; absent once it is unlinked. */
  provider: v.optional(v.string()),
  namespace: v.optional(v.string()),
  subject: v.optional(v.string()),
  external_id: v.optional(v.string()),
  /** When an import created them. */
  imported_at: v.optional(v.string()),
  created_at: v.string(),
  /** The latest login with any identity, or their import. */
  last_login_at: v.string(),
  /**
   * Epoch seconds until which a guest may live. A link removes it, but not one of 1.1.0: whoever
   * has an identity is no guest.
   */
  guest_until: v.optional(v.number()),
  blocked_at: v.optional(v.string()),
  hijacked_at: v.optional(v.string()),
  /** When Apple last said that mail to the person's relay address arrives again, or no more. */
  email_enabled_at: v.optional(v.string()),
  email_disabled_at: v.optional(v.string()),
  /** Credentials that were rejected when the person linked an identity. */
  rejected_credentials: v.optional(v.number()),
  /** Epoch seconds from which these are counted. */
  rejected_since: v.optional(v.number()),
  /** The number of linked identities, as this version counts them; see `changeOfIdentities`. */
  linked_identities: v.optional(v.number()),
  /** How often this version has changed the identities. */
  changes_of_identities: v.optional(v.number()),
  /**
   * The ids, with spaces between, of devices that were linked without a recent login. Some may be
   * linked to others by now.
   */
  unconfirmed_devices: v.optional(v.string()),
  /** The most merges in a row that lead to them; absent for none. */
  merges_in_row: v.optional(v.number()),
  ...sessionsOfPerson,
});

/** A person as one Login App knows them. */
export type LoginUser = v.InferOutput<typeof loginUserSchema> & { identities: UserIdentity[] };

export type LoginUserItem = v.InferOutput<typeof loginUserSchema> &
  v.InferOutput<typeof identityIndexItem> &
  IdentityAttributes &
  Forward & { last_provider?: string };

/** The attributes of somebody who was merged into another Login User, and is gone since then. */
type Forward = {
  merged_into?: string;
  merged_at?: string;
  /** When a guest began, whose session goes on for some minutes. */
  guest_since?: string | undefined;
};

/**
 * The item of a Login User, of a deleted one, or of an identity index. Reads return it unparsed.
 */
export const loginUserItem = (loginUserId: string): ItemKey<Item, LoginUserItem> => ({
  ...loginUserKey(loginUserId),
  parse: (item) => item,
});

/** The person of a Login User Token, with fields of the token and of its session. */
export interface AuthenticatedUser {
  login_app_id: string;
  login_user_id: string;
  session_id: string;
  client_id: string;
  /** Epoch seconds at which the access token was issued. */
  issued_at: number;
  /** Epoch seconds of the login that began the session. */
  started_at: number;
  /** Epoch seconds at which the person authenticated at the provider, if it told. */
  auth_time?: number | undefined;
  login_claims?: LoginClaims | undefined;
  /** The thumbprint of the key that the session of a public client is bound to. */
  proof_key?: string | undefined;
  /** The providers that the public client of the session may use, if an operator has set them. */
  client_providers?: string[] | undefined;
  /** A name from the app, for the person to tell their sessions apart. */
  name?: string | undefined;
  /** Undefined when the session outlived its Login User, or they are deleted. */
  user: LoginUser | undefined;
  isDeleted: boolean;
  /** Set if they were merged into another Login User. */
  merged?: MergedUser | undefined;
}

/** Somebody who was merged into another Login User. */
export interface MergedUser {
  login_app_id: string;
  /** The person who has their identities now. */
  merged_into: string;
  /** A guest, while their session goes on. */
  guest?: LoginUser | undefined;
}

/** The condition that there is no item yet. */
export const whileNotThere = { pk: { exists: false } };

/** Conditions that a Login User exists, and no deletion has begun. */
export const whileExisting = { created_at: { exists: true }, deleted_at: { exists: false } };

/** Conditions that a Login User may log in and change something. */
export const whileActive = { ...whileExisting, blocked_at: { exists: false } };

/** The Login User of an item; undefined for a deleted one, and for an identity index item. */
export function loginUserIn(item: Item | undefined): LoginUser | undefined {
  if (!item?.created_at || item.deleted_at) return undefined;
  const user = v.parse(loginUserSchema, item);
  return { ...user, last_session_id: lastSessionIdOf(user), identities: identitiesIn(item) };
}

/**
 * Whether somebody is a guest: a Login User who began without an identity, and has none yet. A
 * person whose only identity was moved away has none either, but is no guest.
 */
export const isGuest = ({ guest_until, identities }: LoginUser): boolean =>
  guest_until !== undefined && identities.length === 0;

/** The mark of a guest in tokens, sessions and answers, which have none of a person. */
export const guestClaim = (user: LoginUser): true | undefined => isGuest(user) || undefined;

/** Epoch seconds at which a guest has to be gone; undefined for a person. */
export const endOfGuest = (user: LoginUser): number | undefined =>
  isGuest(user) ? user.guest_until : undefined;

/** The time of the latest login; undefined for somebody imported who has never logged in. */
export function latestLoginOf(user: LoginUser): string | undefined {
  const isImported = user.imported_at !== undefined;
  const hasLoggedIn = user.last_session_id !== undefined;
  // An import sets the time, too.
  return isImported && !hasLoggedIn ? undefined : user.last_login_at;
}

/**
 * The person of an authenticated session, who may change something.
 * @throws ServiceError `invalid_token` during a deletion and after a merge, `not_found` when the session outlived the
 *   person, or `blockedAs`
 */
export function requireActiveUser(
  { user, isDeleted, merged }: AuthenticatedUser,
  blockedAs: BlockedCode = 'forbidden',
): LoginUser {
  if (merged) throw mergedError(merged);
  if (isDeleted) throw deletedError();
  if (!user) throw new ServiceError('not_found', 'The Login User does not exist.');
  if (user.blocked_at) throw blockedError(blockedAs);
  return user;
}

/** The attributes that put a Login User into the list of their Login App's people. */
export const placeAmongPeople = (
  { login_user_id, login_app_id }: Pick<LoginUser, 'login_user_id' | 'login_app_id'>,
  now: string,
) => ({
  list: loginUsersOfLoginAppShard(login_app_id, shardNumberOf(login_user_id)),
  list_position: now,
});

export const listAttributes = ['list', 'list_position'];

/** The attributes that remain of somebody who is gone, so that nobody gets the id again. */
export const remaining = new Set([
  'pk',
  'sk',
  'login_user_id',
  'login_app_id',
  'deleted_at',
  'next_slot',
  'write_id',
  'created_by',
]);

export const peopleLists = (loginAppId: string): string[] =>
  shards.map((shard) => loginUsersOfLoginAppShard(loginAppId, shard));

/**
 * The id of an identity's first index item, which becomes the Login User at the first login: a
 * hash, so no race creates two.
 */
export function firstIndexId(loginAppId: string, { namespace, subject }: Identity): string {
  const hash = hashOf(loginAppId, namespace, subject);
  const isOfProbe = loginAppId.startsWith(probeIds.loginApp);
  if (!isOfProbe) return `lu_${hash}`;
  // The function that checks new versions may remove only people whose ids begin so. The beginning
  // is part of the 43 characters.
  const replaced = probeIds.loginUser.length - 'lu_'.length;
  return `${probeIds.loginUser}${hash.slice(replaced)}`;
}

export const newIndexId = (): string => `lu_${randomBytes(32).toString('base64url')}`;

export const readLoginUser = async (loginUserId: string): Promise<LoginUser | undefined> =>
  loginUserIn(await readItem(loginUserItem(loginUserId)));

export const deletedError = (): ServiceError =>
  new ServiceError('invalid_token', 'The Login User has been deleted.', 'session_ended');

export const mergedError = ({ merged_into }: Pick<MergedUser, 'merged_into'>): ServiceError =>
  new ServiceError(
    'invalid_token',
    'The Login User was merged into another one, merged_into: log in again.',
    { reason: 'login_user_merged', further: { merged_into } },
  );

/**
 * The code for a login, a refresh (apps keep the token, which works again later), the account, and
 * a device.
 */
type BlockedCode = 'invalid_grant' | 'unauthorized_client' | 'forbidden' | 'unprocessable_entity';

export function blockedError(code: BlockedCode): ServiceError {
  const message = 'The Login User is blocked.';
  const errors = code === 'unprocessable_entity' ? [{ field: 'device_id', message }] : undefined;
  return new ServiceError(code, message, { reason: 'login_user_blocked', errors });
}
