import * as v from 'valibot';
import { epochSeconds, isoTime, timestamp } from '../../foundation/clock.ts';
import { newId } from '../../foundation/ids.ts';
import { logEvent, logFailure } from '../../log/log.ts';
import { identitiesIn, identityAttributes } from '../../login-users/linked-identity.ts';
import { peopleLists, whileExisting } from '../../login-users/login-user.ts';
import { type KeepingEnd, keepingEndItem } from '../../providers/settings/keeping-end.ts';
import { forEachInBatches, timeLimit } from '../../storage/batches.ts';
import type { Conditions } from '../../storage/expressions.ts';
import { deleteItem, type Item, readItem, updateItem } from '../../storage/items.ts';
import { keepingEndsList } from '../../storage/keys.ts';
import { readGlobalList, readMemberPages, readMembers } from '../../storage/lists.ts';
import { retryRevocations, revokeAndRemove, setAside } from '../identities/revoke-tokens.ts';
import { isKeptFrom, isStoredToken } from '../identities/stored-token.ts';

/** Milliseconds for which people are looked at in one call; the last page may take half a minute more. */
const sweepTime = 25_000;
/** Seconds after which every login that began with the earlier settings has stored its token. */
const settledAfter = 60;
/** Seconds until a revocation that failed is tried again, and after which it is given up. */
const retryAfter = 3600;
const givenUpAfter = 86_400;

/**
 * Revokes and forgets the tokens of people that provider settings have kept and no longer do, for
 * 25 s; the next call goes on. All people of a Login App are looked at again and again until nobody
 * has such a token: at first at once, then after the last login with the earlier settings, and
 * every hour for a day while the provider does not revoke some.
 */
export async function forgetUnkept(): Promise<void> {
  const hasTime = timeLimit(sweepTime);
  for await (const ends of readMemberPages(keepingEndsList, timestamp())) {
    for (const end of ends) {
      if (!hasTime()) return;
      // The index lags behind the table: it may have been put off already.
      if (String(end.list_position) > timestamp()) continue;
      await lookAtPeople(keepingEndItem.parse(end), hasTime);
    }
  }
}

/** Looks at the people of a Login App, page by page, and stores how far it came. */
async function lookAtPeople(end: KeepingEnd, hasTime: () => boolean): Promise<void> {
  const { login_app_id, provider, ended_at } = end;
  const lists = peopleLists(login_app_id);
  let { list_number, start, has_found, has_failed } = end;
  for (let list = lists[list_number]; list !== undefined; list = lists[list_number]) {
    // 1. The next call goes on from here, after others that are due.
    if (!hasTime()) return putOff(end, { list_number, start, has_found, has_failed }, timestamp());

    // 2. A page of people, whose tokens are forgotten.
    const order = 'ascending';
    const { items, next } = await readGlobalList('by_list', list, { limit: 100, start, order });
    const outcomes = await forgetTokensOf(await readMembers(items), end);
    if (outcomes.includes('kept_again')) return;
    has_found ||= outcomes.length > 0;
    has_failed ||= outcomes.includes('failed');

    // 3. The next page of the list, or the next list.
    start = v.parse(keepingEndItem.schema.entries.start, next);
    if (start === undefined) list_number += 1;
  }

  // 4. Everybody was looked at.
  if (has_found) {
    const now = epochSeconds();
    const again = has_failed ? now + retryAfter : Math.max(now, ended_at + settledAfter);
    const fromStart = { list_number: 0, start: undefined, has_found: false, has_failed: false };
    return putOff(end, fromStart, isoTime(again));
  }
  await deleteItem(keyOfEnd(end), { revision: { is: end.revision } });
  logEvent('provider_tokens_forgotten', { login_app_id, provider });
}

const keyOfEnd = ({ login_app_id, provider, host, issuer }: KeepingEnd) =>
  keepingEndItem(login_app_id, provider, host, issuer);

/**
 * Stores when to go on, and where, unless others have changed it.
 * @param list_position the time
 */
async function putOff(
  end: KeepingEnd,
  progress: Pick<KeepingEnd, 'list_number' | 'start' | 'has_found' | 'has_failed'>,
  list_position: string,
): Promise<void> {
  await updateItem(keyOfEnd(end), {
    set: { ...progress, list_position, revision: newId('r') },
    when: { revision: { is: end.revision } },
  });
}

/**
 * The outcome for somebody with tokens. `failed`: some are still stored, and it is no use to look
 * again at once. `kept_again`: settings may have kept them, so nothing is done.
 */
type Outcome = 'found' | 'failed' | 'kept_again';

/**
 * Forgets the tokens of some people, as read.
 * @returns an outcome for each who has any
 */
async function forgetTokensOf(people: Item[], end: KeepingEnd): Promise<Outcome[]> {
  const holders = people.filter((person) => unkeptIn(person, end).length > 0);
  if (holders.length === 0) return [];
  // By now, a login may have stored a token for settings that keep them again.
  const current = await readItem(keyOfEnd(end));
  if (current?.revision !== end.revision) return ['kept_again'];

  const outcomes: Outcome[] = [];
  await forEachInBatches(holders, async (person) => {
    outcomes.push(await forget(person, end).catch((error) => failed(person, error)));
  });
  return outcomes;
}

/** The attributes of a person with tokens that were kept. */
const unkeptIn = (person: Item, end: KeepingEnd): string[] =>
  Object.keys(person).filter(
    (attribute) => isStoredToken(attribute) && isKeptFrom(end, person[attribute]),
  );

/** The outcome of an error, which does not stop the others. */
function failed({ login_user_id }: Item, error: unknown): Outcome {
  logFailure('provider_token_not_revoked', error, { login_user_id: String(login_user_id) });
  return 'failed';
}

/**
 * Revokes and forgets the tokens of a person that were kept.
 * @param person as read; may be gone but for tokens that were not revoked
 */
async function forget(person: Item, end: KeepingEnd): Promise<Outcome> {
  const login_user_id = String(person.login_user_id);
  const found = unkeptIn(person, end);
  const isGone = person.created_at === undefined;
  // A deletion that is under way, or was interrupted, revokes them itself.
  if (!isGone && person.deleted_at !== undefined) return 'failed';

  // 1. Nobody sees an access any more.
  const waiting = await takeOutOfUse(person, found);

  // 2. The provider revokes the tokens.
  const isLastTry = epochSeconds() >= end.ended_at + givenUpAfter;
  const revoking = Object.keys(waiting)
    .filter(isStoredToken)
    .map((attribute) => revokeAndRemove(waiting, attribute, { isLastTry }));
  const outcomes = await Promise.all(revoking);

  // 3. Somebody who is gone leaves the list of people with their last token.
  if (isGone) await retryRevocations(login_user_id);
  return outcomes.includes('not_revoked') && !isLastTry ? 'failed' : 'found';
}

/**
 * Has tokens of a person wait for their revocation. Somebody who has changed since they were read
 * keeps an access until they are looked at again.
 * @param found the attributes with tokens that were kept
 * @returns the person with the tokens alone that wait
 */
async function takeOutOfUse(person: Item, found: string[]): Promise<Item> {
  const { login_user_id, login_app_id } = person;
  const { providerToken } = identityAttributes;
  const ids = identitiesIn(person).map(({ identity_id }) => identity_id);
  const inUse = ids.filter((id) => found.includes(providerToken(id)));
  const attributesInUse = new Set<string>(inUse.map(providerToken));
  const waiting: Item = { login_user_id, login_app_id };

  // Those that later ones have replaced wait already.
  for (const attribute of found)
    if (!attributesInUse.has(attribute)) waiting[attribute] = person[attribute];

  if (inUse.length === 0) return waiting;
  const moved = await setAside(String(login_user_id), inUse, asRead(person));
  for (const [to, from] of Object.entries(moved ?? {})) waiting[to] = person[from];
  return waiting;
}

/** Conditions that no update has changed a person since, and no deletion has begun. */
const asRead = ({ write_id }: Item): Conditions => ({
  ...whileExisting,
  write_id: { is: write_id === undefined ? undefined : String(write_id) },
});
