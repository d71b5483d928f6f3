import { guestEndItem } from '../../login-users/guest-end.ts';
import {
  type Identity,
  identitiesIn,
  type StoredIdentity,
} from '../../login-users/linked-identity.ts';
import {
  isGuest,
  type LoginUser,
  listAttributes,
  loginUserItem,
  remaining,
  whileActive,
} from '../../login-users/login-user.ts';
import { endOfMergedGuest } from '../../login-users/merged-user.ts';
import type { Conditions } from '../../storage/expressions.ts';
import type { Item } from '../../storage/items.ts';
import { unfinishedMergesList } from '../../storage/keys.ts';
import { put, remove, type TransactionWrite, update } from '../../storage/transactions.ts';
import { attributeOf, changeOfIdentities } from '../identities/change-of-identities.ts';
import { claimExternalId, type findExternalId } from '../identities/identity-index.ts';
import { detailsOf, leadAll, type MovedIdentities, moveIdentities } from './moved-identities.ts';
import { type MovedTokens, moveTokens } from './moved-tokens.ts';
import { type PendingMerge, pendingMergeItem } from './pending-merge.ts';

/** A person as read, with the item. */
interface Person {
  user: LoginUser;
  item: Item;
}

/** The circumstances of a merge, besides the two people. */
interface Circumstances {
  proven: Identity | undefined;
  sessionId: string | undefined;
  now: string;
  /** The item of the external id of the person who is given up. */
  externalIdItem: Awaited<ReturnType<typeof findExternalId>>['item'];
}

/** A merge as it is written. */
export interface PlannedMerge {
  writes: TransactionWrite[];
  identities: StoredIdentity[];
  /** The number of identities for which there is no room. */
  lost: number;
  /** Whether a guest who is kept becomes a person. */
  isPromoted: boolean;
  pending: PendingMerge;
}

/** The writes of the transaction that decides on a merge: fewer than 30. */
export function writesOf(
  kept: Person,
  givenUp: Person,
  circumstances: Circumstances,
): PlannedMerge {
  const { proven, sessionId, now, externalIdItem } = circumstances;
  const { login_user_id, login_app_id, external_id } = givenUp.user;
  const merged_into = kept.user.login_user_id;

  // 1. What comes to the person who is kept.
  const identities = moveIdentities(kept.user, givenUp.user, proven);
  const tokens = moveTokens(identities, givenUp.item, kept.item);

  // 2. What remains to be done afterwards.
  const guest_until = isGuest(givenUp.user) ? endOfMergedGuest({ merged_at: now }) : undefined;
  const pending = { login_user_id, merged_into, session_id: sessionId, guest_until };
  const position = { list: unfinishedMergesList, list_position: now };

  // 3. The writes.
  const writes = [
    gaining(kept, givenUp, identities, tokens),
    leaving(givenUp, merged_into, { now, tokens, identities }),
    ...leadAll(identities, kept.user, givenUp.user),
    put(pendingMergeItem(login_user_id), { ...pending, ...position }),
  ];
  const hasPromoted = isPromoted(kept, identities);
  if (givenUp.user.guest_until !== undefined) writes.push(remove(guestEndItem(login_user_id)));
  if (hasPromoted) writes.push(remove(guestEndItem(merged_into)));
  if (external_id !== undefined)
    writes.push(claimExternalId(login_app_id, external_id, merged_into, externalIdItem));

  return {
    writes,
    identities: identities.moves.map(({ after }) => after),
    lost: identities.lost.length,
    isPromoted: hasPromoted,
    pending,
  };
}

/** Whether a guest who is kept becomes a person. */
const isPromoted = ({ user }: Person, { moves }: MovedIdentities): boolean =>
  user.guest_until !== undefined && moves.length > 0;

/** The write by which the person who is kept gets what comes. The profile stays theirs. */
function gaining(
  kept: Person,
  givenUp: Person,
  identities: MovedIdentities,
  { set: tokens }: MovedTokens,
): TransactionWrite {
  const { user } = kept;
  const added = identities.moves.map(({ after }) => after);
  const change = changeOfIdentities(user, { added });
  if (isPromoted(kept, identities)) change.remove.push('guest_until');
  return update(loginUserItem(user.login_user_id), {
    ...change,
    set: {
      ...change.set,
      ...detailsOf(identities),
      ...tokens,
      last_login_at: laterOf(user.last_login_at, givenUp.user.last_login_at),
      external_id: user.external_id ?? givenUp.user.external_id,
      unconfirmed_devices: unconfirmedOf(user, givenUp.user),
      merges_in_row: mergesInRow(user, givenUp.user),
    },
    when: { ...change.when, ...asRead(kept) },
  });
}

/** The most merges in a row that lead to whom another one is merged into. */
export const mergesInRow = (kept: LoginUser, givenUp: LoginUser): number =>
  Math.max(kept.merges_in_row ?? 0, (givenUp.merges_in_row ?? 0) + 1);

const laterOf = (one: string, other: string): string => (one > other ? one : other);

/** The list of unconfirmed devices of both, which the next one who adds to it shortens. */
function unconfirmedOf(...users: LoginUser[]): string | undefined {
  const lists = users.map(({ unconfirmed_devices }) => unconfirmed_devices);
  const known = lists.filter((list) => list !== undefined);
  return known.length > 0 ? known.join(' ') : undefined;
}

/**
 * The write by which the other person is gone. What is left looks like a finished deletion, so that
 * 1.1.0 gives the id to nobody.
 */
function leaving(
  givenUp: Person,
  merged_into: string,
  { now, tokens, identities }: { now: string; tokens: MovedTokens; identities: MovedIdentities },
): TransactionWrite {
  const { user, item } = givenUp;
  const { login_user_id } = user;
  // Tokens that are to be revoked stay, and so does what leads to them.
  const staying = tokens.left.length > 0 ? [...tokens.left, ...listAttributes] : [];
  const stays = (attribute: string): boolean =>
    remaining.has(attribute) || staying.includes(attribute);
  return update(loginUserItem(login_user_id), {
    set: {
      merged_into,
      merged_at: now,
      deleted_at: now,
      guest_since: isGuest(user) ? user.created_at : undefined,
    },
    setIfAbsent: { next_slot: identities.nextIndexId },
    remove: Object.keys(item).filter((attribute) => !stays(attribute)),
    when: { ...asRead(givenUp), ...hasAll(givenUp) },
  });
}

/** Conditions that a person still has the identities that were read. */
function hasAll({ item, user: { login_user_id } }: Person): Conditions {
  const attributes = identitiesIn(item).map(({ identity_id }) =>
    attributeOf({ login_user_id, identity_id }),
  );
  return Object.fromEntries(attributes.map((attribute) => [attribute, { exists: true }]));
}

/**
 * Conditions that nobody has changed a person. Each update of the item alone writes its `write_id`,
 * and each transaction one of the others.
 */
function asRead({ user, item }: Person): Conditions {
  const write_id = item.write_id === undefined ? undefined : String(item.write_id);
  return {
    ...whileActive,
    write_id: { is: write_id },
    linked_identities: { is: user.linked_identities },
    unconfirmed_devices: { is: user.unconfirmed_devices },
    merges_in_row: { is: user.merges_in_row },
    external_id: { is: user.external_id },
    guest_until: { is: user.guest_until },
  };
}
