import { timestamp } from '../../foundation/clock.ts';
import { newId } from '../../foundation/ids.ts';
import {
  type Identity,
  type IdentityAttributes,
  identityAttributes,
  type StoredIdentity,
  type UserIdentity,
} from '../../login-users/linked-identity.ts';
import { type LoginUser, newIndexId } from '../../login-users/login-user.ts';
import type { TransactionWrite } from '../../storage/transactions.ts';
import { roomOf } from '../identities/change-of-identities.ts';
import { leadNowhere, leadTo } from '../identities/identity-index.ts';

/** An identity of the person who is given up, and as the one who is kept gets it. */
interface Move {
  before: UserIdentity;
  after: StoredIdentity & { slot: string };
}

/** A decision about the identities of a person who is given up. */
export interface MovedIdentities {
  moves: Move[];
  /** Identities for which there is no room. */
  lost: UserIdentity[];
  /** The id of the index item where the first identity goes on. */
  nextIndexId: string;
}

/**
 * Decides which identities move: as many as the person who is kept may still link. Beyond them, those
 * that nobody has logged in with for the longest time are lost, but never the one that was just
 * proven.
 *
 * Each gets a new id. A login that began before the merge would free the index item of an identity
 * whose id leads to somebody else than it expects: no index item has the earlier id any more.
 */
export function moveIdentities(
  kept: LoginUser,
  givenUp: LoginUser,
  proven: Identity | undefined,
): MovedIdentities {
  const nextIndexId = newIndexId();
  const isProven = ({ namespace, subject }: Identity): boolean =>
    namespace === proven?.namespace && subject === proven.subject;
  const lastUse = (identity: UserIdentity): string =>
    isProven(identity) ? lastOfAll : (identity.last_login_at ?? identity.linked_at);
  const byUse = givenUp.identities.toSorted((a, b) => (lastUse(a) < lastUse(b) ? 1 : -1));
  const room = Math.max(0, roomOf(kept));
  const staying = new Set(byUse.slice(0, room));
  const linked_at = timestamp();
  const moves = givenUp.identities
    .filter((identity) => staying.has(identity))
    .map((before) => {
      const { provider, namespace, subject, slot = nextIndexId } = before;
      const identity_id = newId('i');
      return { before, after: { identity_id, slot, provider, namespace, subject, linked_at } };
    });
  return { moves, lost: byUse.slice(room), nextIndexId };
}

/** Sorts after all times. */
const lastOfAll = '~';

/** The writes of the index items: they lead to the person who is kept, or to nobody. */
export const leadAll = (
  { moves, lost }: MovedIdentities,
  kept: LoginUser,
  givenUp: LoginUser,
): TransactionWrite[] => [
  ...moves.map(({ before, after }) => {
    const { login_user_id } = kept;
    const { identity_id, slot: id } = after;
    const former = { login_user_id: givenUp.login_user_id, identity_id: before.identity_id };
    // The index item of a first identity stays the Login User's own, and leads to a new one.
    const owner = before.slot === undefined ? undefined : former;
    return leadTo({ login_user_id, identity_id }, { id, owner });
  }),
  ...leadNowhere(lost),
];

/** The attributes about identities that come with them, but for the providers' tokens. */
export function detailsOf({ moves }: MovedIdentities): IdentityAttributes {
  const set: IdentityAttributes = {};
  for (const { before, after } of moves) {
    const { identity_id } = after;
    const { profile, told_by_app, last_login_at } = before;
    if (profile) set[identityAttributes.profile(identity_id)] = profile;
    if (told_by_app) set[identityAttributes.toldByApp(identity_id)] = told_by_app;
    if (last_login_at) set[identityAttributes.lastLogin(identity_id)] = last_login_at;
    if (before.provider_revocation === false)
      set[identityAttributes.codeFailed(identity_id)] = true;
  }
  return set;
}
