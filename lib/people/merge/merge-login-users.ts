import { setTimeout as wait } from 'node:timers/promises';
import { readCurrentDevices } from '../../devices/related-devices.ts';
import { epochSeconds, timestamp } from '../../foundation/clock.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import { annotateIds } from '../../log/request-fields.ts';
import { type Identity, identityAttributes } from '../../login-users/linked-identity.ts';
import {
  blockedError,
  deletedError,
  type LoginUser,
  loginUserIn,
  loginUserItem,
  mergedError,
} from '../../login-users/login-user.ts';
import { followForward, readMergedUser } from '../../login-users/merged-user.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import { type Item, readItem, readItems } from '../../storage/items.ts';
import { writeTogether } from '../../storage/transactions.ts';
import { findExternalId } from '../identities/identity-index.ts';
import { type FinishedMerge, finishMerge } from './finish-merge.ts';
import { pendingMergeItem } from './pending-merge.ts';
import { mergesInRow, type PlannedMerge, writesOf } from './writes-of-merge.ts';

/** Two Login Users of a Login App, of whom one is kept. */
export interface Pair {
  keptId: string;
  givenUpId: string;
}

interface Options {
  /** The identity that was just proven, which is never lost. */
  proven?: Identity;
  /**
   * The session of the person who is kept that gets the devices.
   * @default the latest one
   */
  sessionId?: string;
  /** Follows the decision, before anything else does. */
  afterDecision?: () => Promise<void>;
}

/** The numbers of what a merge has moved, and of what had no room. */
export interface Merge extends FinishedMerge {
  identities: number;
  identities_lost: number;
}

/**
 * Merges two Login Users. One transaction decides: the person who is kept gets the identities, and
 * the other one is gone, with an id that leads to the first. The rest is done afterwards, and
 * finished by the schedule if it is interrupted. A merge that was made already is finished.
 * @throws ServiceError `forbidden` if one of them is blocked, `conflict` if both have external ids or
 *   too many merges in a row would lead to the one who is kept, `invalid_token` if one is gone,
 *   `not_found` for one of another Login App
 */
export async function mergeLoginUsers(pair: Pair, options: Options = {}): Promise<Merge> {
  const { givenUpId } = pair;
  annotateIds({ merged_from: givenUpId });

  // 1. A merge that was made before has to be finished at most.
  if (await wasMerged(pair)) {
    await options.afterDecision?.();
    return finishAgain(pair);
  }

  // 2. Links that ended while the index of devices lagged behind must not come back.
  await readCurrentDevices(givenUpId);

  // 3. One transaction decides.
  const attempts = { pauses: 0 };
  const decided = await retryOnConflict(
    () => mergeOnce(pair, options, attempts),
    'Both Login Users keep changing.',
  );
  logMerge(pair, decided);
  await options.afterDecision?.();

  // 4. The rest follows.
  const finished = await finishMerge(decided.pending);
  return { ...finished, identities: decided.identities.length, identities_lost: decided.lost };
}

function logMerge(
  { keptId, givenUpId }: Pair,
  { identities, isPromoted }: Pick<PlannedMerge, 'identities' | 'isPromoted'>,
): void {
  logEvent('login_users_merged', { login_user_id: keptId, merged_from: givenUpId });
  for (const { identity_id, provider } of identities)
    logEvent('identity_linked', { login_user_id: keptId, identity_id, provider });
  if (isPromoted) logEvent('login_user_promoted', { login_user_id: keptId });
}

/** Whether a merge was made before, perhaps by a request whose answer was lost. */
async function wasMerged({ keptId, givenUpId }: Pair): Promise<boolean> {
  const { id } = await followForward(givenUpId);
  return id !== givenUpId && id === keptId;
}

/** Finishes a merge that was made before. */
async function finishAgain({ givenUpId }: Pair): Promise<Merge> {
  const pending = await readItem(pendingMergeItem(givenUpId));
  const nothing = { sessions_ended: 0, devices: 0, devices_lost: 0 };
  const finished = pending ? await finishMerge(pending) : nothing;
  return { ...finished, identities: 0, identities_lost: 0 };
}

/**
 * Reads both people, and writes the transaction that decides.
 * @returns undefined when somebody has changed either person since they were read, or a provider is
 *   asked for a token of the one who is given up
 */
async function mergeOnce(
  { keptId, givenUpId }: Pair,
  { proven, sessionId }: Options,
  attempts: { pauses: number },
) {
  const [keptItem, givenUpItem] = await readItems([
    loginUserItem(keptId),
    loginUserItem(givenUpId),
  ]);
  const kept = { item: keptItem ?? {}, user: await requirePerson(keptItem) };
  const givenUp = { item: givenUpItem ?? {}, user: await requirePerson(givenUpItem) };
  requireMergeable(kept.user, givenUp.user);
  if (await isRefreshing(givenUp, attempts)) return undefined;

  const { writes, ...decided } = writesOf(kept, givenUp, {
    proven,
    sessionId,
    now: timestamp(),
    externalIdItem: await externalIdItemOf(givenUp.user),
  });
  const { done } = await writeTogether(writes);
  return done ? decided : undefined;
}

/** The item that leads from a person's external id to them; undefined without one. */
async function externalIdItemOf({ external_id, login_app_id }: LoginUser) {
  if (external_id === undefined) return undefined;
  const { item } = await findExternalId(login_app_id, external_id);
  return item;
}

/** @throws ServiceError `invalid_token` unless somebody is there */
async function requirePerson(item: Item | undefined): Promise<LoginUser> {
  if (item?.merged_into !== undefined) throw mergedError(await readMergedUser(item));
  const user = loginUserIn(item);
  if (!user) throw deletedError();
  return user;
}

/**
 * Checks whether two people may be merged, as far as they decide it.
 * @throws ServiceError
 */
export function requireMergeable(kept: LoginUser, givenUp: LoginUser): void {
  if (kept.login_user_id === givenUp.login_user_id)
    throw new ServiceError('conflict', 'Both are the same Login User.');
  if (kept.login_app_id !== givenUp.login_app_id)
    throw new ServiceError('not_found', 'There is no such Login User of this Login App.');

  const isBlocked = kept.blocked_at !== undefined || givenUp.blocked_at !== undefined;
  if (isBlocked) throw blockedError('forbidden');

  const haveBothIds = kept.external_id !== undefined && givenUp.external_id !== undefined;
  if (haveBothIds && kept.external_id !== givenUp.external_id)
    throw new ServiceError('conflict', twoExternalIds);

  if (mergesInRow(kept, givenUp) > mostInRow) throw new ServiceError('conflict', tooManyInRow);
}

const twoExternalIds =
  'Both Login Users were imported, with different external ids, and a Login User has one. An operator can decide which account is deleted.';

/** The most merges in a row. Whoever has the first of the ids reads them all to find the person. */
const mostInRow = 20;

const tooManyInRow = `The account that would be given up is the end of ${mostInRow} merges in a row, which is the most: keep that one instead.`;

/** Milliseconds until it is looked again whether a provider has answered. */
const pause = 200;
/** The number of times that it is looked again. */
const mostPauses = 15;

export const inUse =
  'A server gets a token of a provider just now, of an account that is to be merged: send the request again.';

/**
 * Whether a provider is asked just now for the next token of an identity. Its answer is for the
 * person who has the identity now, and would be revoked after a merge.
 * @throws ServiceError `temporarily_unavailable` after 3 to 5 s
 */
async function isRefreshing(
  { user, item }: { user: LoginUser; item: Item },
  attempts: { pauses: number },
): Promise<boolean> {
  const now = epochSeconds();
  const isUnderWay = user.identities.some(({ identity_id }) => {
    const refreshUntil = item[identityAttributes.refreshUntil(identity_id)] ?? 0;
    return Number(refreshUntil) > now;
  });
  if (!isUnderWay) return false;

  if (attempts.pauses === mostPauses) throw new ServiceError('temporarily_unavailable', inUse);
  attempts.pauses += 1;
  await wait(pause);
  return true;
}
