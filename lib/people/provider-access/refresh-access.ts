import { setTimeout as wait } from 'node:timers/promises';
import { epochSeconds } from '../../foundation/clock.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent, logFailure } from '../../log/log.ts';
import {
  type IdentityAttributes,
  identityAttributes,
  type ProviderAccess,
} from '../../login-users/linked-identity.ts';
import {
  blockedError,
  loginUserItem,
  whileActive,
  whileExisting,
} from '../../login-users/login-user.ts';
import { ProviderFailure } from '../../providers/calls/provider-failure.ts';
import { refreshToken } from '../../providers/provider-token.ts';
import { type Item, readItem, updateItem } from '../../storage/items.ts';
import { noteStored, withReceivedToken } from '../identities/store-token.ts';
import { encryptToken, isTooLong } from '../identities/stored-token.ts';
import { type AccessOwner, clockLeeway, type KeptToken, readKept } from './kept-access.ts';

/**
 * Seconds that an access token must have left to be handed out without a refresh. So the clock of
 * the function that stored it may be ahead by as much, and nobody gets the token after its end.
 */
const leastSecondsLeft = 60;

/**
 * Seconds for which one request alone may refresh: longer than the provider may take to answer, and
 * the store to store it. Afterwards, whoever began is taken for dead.
 */
const turnSeconds = 10;

/** Milliseconds after which those who wait look again, one after the other: five seconds in all. */
const pauses = [100, 150, 250, 500, 500, 500, 500, 500, 500, 500, 500, 500];

/** Seconds after which to ask again, when the provider did not answer, or takes no more requests. */
const secondsToRetry = 5;
const throttledFor = 60;

/** An access token, and whether the provider has just issued it. */
interface CurrentAccess {
  access: ProviderAccess & { access_token: string };
  refreshed: boolean;
}

/**
 * The access token that is kept with an identity, or the next one if less than a minute is left. Of
 * several requests at once, one refreshes it, and the others wait for the result.
 * @param item the Login User, as stored
 * @throws ServiceError `invalid_grant` when the person has to log in again, or is blocked;
 *   `temporarily_unavailable` when the provider does not answer; ProviderFailure
 */
export async function currentAccess(owner: AccessOwner, item: Item): Promise<CurrentAccess> {
  const { access } = await readKept(item, owner);
  if (hasTimeLeft(access, leastSecondsLeft)) return { access, refreshed: false };
  const turn = await takeTurn(owner);
  return turn.isOurs ? refresh(owner, turn) : waitForOther(owner, turn.item);
}

/**
 * Whether an access token can be used for so long. Of one that was issued in the future, the end is
 * by a clock that is ahead, so nobody knows.
 */
function hasTimeLeft(access: ProviderAccess, seconds: number): access is CurrentAccess['access'] {
  const { access_token, issued_at, expires_at } = access;
  const now = epochSeconds();
  if (access_token === undefined || issued_at > now + clockLeeway) return false;
  return expires_at - now >= seconds;
}

/** The turn to refresh, with the Login User as it was found. */
type Turn =
  | { isOurs: true; until: number; item: Item | undefined }
  | { isOurs: false; item: Item | undefined };
type OwnTurn = Extract<Turn, { isOurs: true }>;

/**
 * Takes the turn to refresh, unless somebody else has it. The time of its end identifies it: a random
 * fraction tells it from one that another request takes in the same second, after a login.
 */
async function takeTurn({ login_user_id, identity_id }: AccessOwner): Promise<Turn> {
  const now = epochSeconds();
  const until = now + turnSeconds + Math.random();
  const ofTurn = identityAttributes.refreshUntil(identity_id);
  const set: IdentityAttributes = {};
  set[ofTurn] = until;
  const outcome = await updateItem(loginUserItem(login_user_id), {
    set,
    when: {
      ...whileActive,
      [identityAttributes.providerToken(identity_id)]: { exists: true },
      [ofTurn]: { isNotFrom: now },
    },
  });
  if (!outcome.done) return { isOurs: false, item: outcome.found };
  return { isOurs: true, until, item: outcome.before ?? outcome.after };
}

/** Gives the turn back, so that those who wait know that there is no result. */
async function giveBack({ login_user_id, identity_id }: AccessOwner, { until }: OwnTurn) {
  const ofTurn = identityAttributes.refreshUntil(identity_id);
  await updateItem(loginUserItem(login_user_id), {
    remove: [ofTurn],
    when: { [ofTurn]: { is: until } },
  });
}

/** Refreshes the token, as it was stored when the turn was taken. */
async function refresh(owner: AccessOwner, turn: OwnTurn): Promise<CurrentAccess> {
  // 1. Somebody else may have refreshed it just before.
  const kept = await readKept(turn.item, owner);
  if (hasTimeLeft(kept.access, leastSecondsLeft)) {
    await giveBack(owner, turn);
    return { access: kept.access, refreshed: false };
  }

  // 2. The provider gives the next access token, or says that the grant has ended.
  const answer = await refreshToken(kept.place, kept).catch(async (error: unknown) => {
    await giveBack(owner, turn);
    if (!isDown(error)) throw error;
    return error;
  });
  if (answer instanceof ProviderFailure) return withoutAnswer(owner, kept, answer);
  if (answer === 'refused') {
    await endAccess(owner, turn);
    return laterAccess(owner);
  }

  // 3. It is stored, with the next refresh token if there is one.
  const { access_token, scopes = kept.access.scopes } = answer.access;
  const { since } = kept.access;
  const next = { ...kept, text: answer.refresh_token ?? kept.text };
  const access = { ...answer.access, scopes, since };
  const isStored = await storeNext(owner, turn, { ...next, access }, answer.isRevocable);
  if (isStored && access_token !== undefined) {
    return { access: { ...access, access_token }, refreshed: true };
  }

  // 4. A login or an unlinking came first, and what is kept since then counts.
  return laterAccess(owner);
}

/**
 * The access token of before, if it is still valid while the provider does not answer.
 * @throws ServiceError `temporarily_unavailable` otherwise
 */
function withoutAnswer(
  owner: AccessOwner,
  { access }: KeptToken,
  failure: ProviderFailure,
): CurrentAccess {
  const seconds = failure.code === 'throttled' ? throttledFor : secondsToRetry;
  if (!hasTimeLeft(access, 1)) throw unavailable(owner, failure, seconds);
  logFailure('provider_gave_no_verdict', failure, {});
  return { access, refreshed: false };
}

/**
 * Stores the answer to a refresh, unless a login has replaced the token or the person has lost the
 * identity: a refresh token that came for nobody is revoked. So is one that is too long to be
 * stored, and the access ends.
 */
async function storeNext(
  owner: AccessOwner,
  turn: OwnTurn,
  next: KeptToken,
  isRevocable: boolean,
): Promise<boolean> {
  const { login_user_id, identity_id } = owner;
  const ofTurn = identityAttributes.refreshUntil(identity_id);
  return withReceivedToken(next.place, async (received) => {
    Object.assign(received, { token: next, isRevocable, login_user_id });
    if (isTooLong(next.text)) {
      await endAccess(owner, turn);
      return false;
    }
    received.state = 'offered';
    const set: IdentityAttributes = {};
    set[identityAttributes.providerToken(identity_id)] = await encryptToken(next, next.place);
    const outcome = await updateItem(loginUserItem(login_user_id), {
      set,
      remove: [ofTurn],
      when: { ...whileExisting, [ofTurn]: { is: turn.until } },
    });
    if (!outcome.done) return false;
    noteStored(received);
    const { blocked_at } = outcome.before ?? outcome.after ?? {};
    if (blocked_at !== undefined) throw blockedError('invalid_grant');
    return true;
  });
}

/** Forgets a token that the provider no longer accepts. */
async function endAccess(owner: AccessOwner, { until }: OwnTurn): Promise<void> {
  const { login_user_id, identity_id } = owner;
  const ofTurn = identityAttributes.refreshUntil(identity_id);
  const { done } = await updateItem(loginUserItem(login_user_id), {
    remove: [identityAttributes.providerToken(identity_id), ofTurn],
    when: { [ofTurn]: { is: until } },
  });
  if (done) logEvent('provider_access_ended', { login_user_id, identity_id });
}

/**
 * Waits until whoever has the turn has refreshed the token.
 * @throws ServiceError `temporarily_unavailable` when that failed, or takes too long
 */
async function waitForOther(owner: AccessOwner, found: Item | undefined): Promise<CurrentAccess> {
  const { login_user_id, identity_id } = owner;
  const ofTurn = identityAttributes.refreshUntil(identity_id);
  let item = found;
  for (const pause of pauses) {
    const { access } = await readKept(item, owner);
    if (hasTimeLeft(access, 1) && item?.[ofTurn] === undefined) return { access, refreshed: false };
    if (item?.[ofTurn] === undefined) break;
    await wait(pause);
    item = await readItem(loginUserItem(login_user_id));
  }
  return laterAccess(owner);
}

/**
 * The access token that is kept by now.
 * @throws ServiceError `invalid_grant` if none is, `temporarily_unavailable` if it has expired
 */
async function laterAccess(owner: AccessOwner): Promise<CurrentAccess> {
  const { access } = await readKept(await readItem(loginUserItem(owner.login_user_id)), owner);
  if (hasTimeLeft(access, leastSecondsLeft)) return { access, refreshed: false };
  const failure = new Error('Another request has not got an answer of the provider.');
  throw unavailable(owner, failure, secondsToRetry);
}

const faultsOfOutages: ProviderFailure['code'][] = [
  'unreachable',
  'timed_out',
  'throttled',
  'unexpected_status',
];

/** Whether a provider is down, slow or busy. Other failures are for an operator to look at. */
const isDown = (error: unknown): error is ProviderFailure =>
  error instanceof ProviderFailure && faultsOfOutages.includes(error.code);

/** The error for a server while the provider does not answer, which is logged with each such answer. */
function unavailable(
  { identity_id, provider }: AccessOwner,
  failure: Error,
  retryAfterSeconds: number,
): ServiceError {
  logFailure('provider_token_not_refreshed', failure, { identity_id });
  return new ServiceError(
    'temporarily_unavailable',
    `There is no answer of ${provider} now. Nothing is lost; send the request again.`,
    { reason: 'provider_unavailable', retryAfterSeconds },
  );
}
