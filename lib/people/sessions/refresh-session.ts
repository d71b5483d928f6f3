import { epochSeconds } from '../../foundation/clock.ts';
import { environmentSeconds } from '../../foundation/environment.ts';
import type { LogReason } from '../../foundation/reasons.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import { annotateLog } from '../../log/request-fields.ts';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { findStatus, type LoginAppStatus } from '../../login-apps/status.ts';
import {
  blockedError,
  endOfGuest,
  guestClaim,
  type LoginUser,
} from '../../login-users/login-user.ts';
import { providerIds } from '../../providers/provider-ids.ts';
import { type Item, updateItem } from '../../storage/items.ts';
import { askLoginHook, asksAtLoginOnly, hasLoginHook, hookClaimsIn } from '../login-hook.ts';
import { endSession } from './end-sessions.ts';
import {
  externalIdForTokens,
  isActive,
  readLoginUserWithSession,
  requireSameKey,
  type Session,
  type SessionGeneration,
  sessionItem,
  sessionWithId,
  stateOfGeneration,
} from './session.ts';
import { endOf } from './session-lifetime.ts';

/** Seconds after a refresh from which the replaced token is a late replay. */
const replaySeconds = environmentSeconds('REFRESH_REPLAY_SECONDS');

/** Generations in a row with a late replay that can still be lost responses, and one more. */
const mostGenerations = 3;

/**
 * Rotates a refresh token: its session gets the next generation. An outdated token ends the session,
 * as does a predecessor that comes back late in several generations in a row: somebody else has a
 * copy.
 * @see RFC 9700 section 4.14.2
 * @throws ServiceError `invalid_grant`, `invalid_dpop_proof` for another key, `unauthorized_client`
 *   for a blocked person
 */
export async function refreshSession(
  client: AuthenticatedClient,
  content: SessionGeneration | undefined,
) {
  // 1. The token is one of ours.
  if (!content) throw invalidToken('refresh_token_malformed');
  const { login_user_id, session_id } = content;
  annotateLog({ login_user_id, session_id });

  // 2. Its session is active and of this client, and its person is not blocked.
  const { session, status, user, merged_into } = await readRefreshable(client, content);
  const guest = guestClaim(user);
  const guestEnd = endOfGuest(user);
  /** The session for tokens that are issued again, with what holds of its person now. */
  const asNow = (issued: Session): Session => {
    const expires_at = Math.min(issued.expires_at, guestEnd ?? Infinity);
    return { ...issued, guest, merged_into, expires_at };
  };
  const { generation } = session;
  const logged = { login_user_id, session_id, generation };
  const state = stateOfGeneration(session, content.generation);

  // 3. An outdated token ends the session.
  if (state === 'outdated') {
    logEvent('refresh_token_reused', { ...logged, presented_generation: content.generation });
    await endSession(login_user_id, session_id, 'reuse');
    throw invalidToken('refresh_token_reused');
  }

  // 4. The predecessor gets the same successor again. Soon after the refresh, its response was
  // lost.
  if (state === 'predecessor') {
    const repeated = isLate(session) ? await repeatLate(session, user, status) : session;
    logEvent('refresh_token_repeated', logged);
    return asNow(repeated);
  }

  // 5. The login hook decides whether the session goes on, and with which claims.
  const claims = await claimsAtRefresh(session, user);

  // 6. The current token is rotated by one conditional write. Of several requests at once, one
  // succeeds.
  const change = {
    generation: generation + 1,
    refreshed_at: epochSeconds(),
    expires_at: endOf(session.started_at, session.provider_session_end, guestEnd),
    guest,
    merged_into,
    external_id: externalIdForTokens(user),
    ...claims,
  };
  const update = await updateItem(sessionItem(login_user_id, session_id), {
    set: change,
    when: whileUnchanged(session),
  });
  if (update.done) return { ...session, ...change };

  // 7. Others were faster, perhaps by several generations. The token was current when it came, so
  // nobody stole it.
  const latest = activeSessionIn(update.found, session, status);
  logEvent('refresh_token_repeated', { ...logged, generation: latest.generation });
  return asNow(latest);
}

/** A session that may be refreshed, with its person. */
interface Refreshable {
  session: Session;
  /** The status of the Login App. */
  status: LoginAppStatus;
  user: LoginUser;
  /** The Login User into whom a guest was merged. */
  merged_into: string | undefined;
}

/**
 * Reads the session of a refresh token, and its person.
 * @throws ServiceError `invalid_grant` for a session that has ended or is another client's,
 *   `invalid_dpop_proof` for another key, `unauthorized_client` for a blocked person
 */
async function readRefreshable(
  client: AuthenticatedClient,
  { login_user_id, session_id }: SessionGeneration,
): Promise<Refreshable> {
  const [{ user: person, merged, session }, status] = await Promise.all([
    readLoginUserWithSession(login_user_id, session_id),
    findStatus(client.loginAppId),
  ]);
  if (!session || !isActive(session, status)) throw invalidToken('session_ended');
  if (session.client_id !== client.clientId) throw invalidToken('issued_to_another_client');
  requireSameKey(session, client);

  // A guest who was merged has some minutes to move what the app has stored.
  const user = person ?? merged?.guest;
  if (!user) throw invalidToken(merged ? 'login_user_merged' : 'session_ended');
  if (user.blocked_at) {
    logEvent('login_user_refused', { login_user_id });
    throw blockedError('unauthorized_client');
  }

  // 1.1.0 does not know guests, and may have let the session go on for longer.
  const guestEnd = endOfGuest(user) ?? Infinity;
  if (guestEnd <= epochSeconds()) throw invalidToken('session_ended');

  return { session, status, user, merged_into: merged?.merged_into };
}

/** The condition that a session has been neither refreshed nor ended, nor replaced in its slot. */
const whileUnchanged = ({ session_id, generation }: Session) => ({
  session_id: { is: session_id },
  generation: { is: generation },
  ended_at: { exists: false as const },
});

/**
 * The session of an item that did not meet a condition.
 * @throws ServiceError `invalid_grant` unless it is active
 */
function activeSessionIn(
  found: Item | undefined,
  { session_id }: Session,
  status: LoginAppStatus,
): Session {
  const session = sessionWithId(session_id, found && sessionItem.parse(found));
  if (!session || !isActive(session, status)) throw invalidToken('session_ended');
  return session;
}

/**
 * Whether a predecessor that comes now is late: a lost response would have been asked for before.
 */
const isLate = ({ refreshed_at = 0 }: Session): boolean =>
  epochSeconds() - refreshed_at > replaySeconds();

/**
 * Gives a late predecessor the same successor again, with the claims that the login hook gives now.
 * @throws ServiceError `invalid_grant` when it comes back once too often, or the hook refuses
 */
async function repeatLate(
  session: Session,
  user: LoginUser,
  status: LoginAppStatus,
): Promise<Session> {
  const { login_user_id, session_id, generation, replayed_generation } = session;

  // 1. One late replay may be a lost response. Several in a row are two parties who take turns.
  const late_replays = lateReplaysOf(session);
  if (late_replays >= mostGenerations) {
    logEvent('refresh_token_replayed', { login_user_id, session_id, generation });
    await endSession(login_user_id, session_id, 'reuse', 'reuse');
    throw invalidToken('refresh_token_replayed');
  }

  // 2. The login hook decides, as for the current token: nobody gets past it by a replaced one.
  const claims = await claimsAtRefresh(session, user);

  // 3. Of several at once, one counts. A slow one can't take back that of the next generation.
  const isCounted = replayed_generation === generation;
  if (isCounted && !('hook_claims' in claims)) return session;
  const change = { replayed_generation: generation, late_replays, ...claims };
  const update = await updateItem(sessionItem(login_user_id, session_id), {
    set: change,
    when: { ...whileUnchanged(session), replayed_generation: { is: replayed_generation } },
  });
  if (!update.done) activeSessionIn(update.found, session, status);
  return { ...session, ...change };
}

/** The number of generations in a row with a late replay, this one included. Each counts once. */
function lateReplaysOf({ generation, replayed_generation, late_replays = 0 }: Session): number {
  if (replayed_generation === generation) return late_replays;
  const isInARow = replayed_generation === generation - 1;
  return isInARow ? late_replays + 1 : 1;
}

/** The claims that the login hook gives at a refresh; none of them where it is not asked. */
async function claimsAtRefresh(
  session: Session,
  user: LoginUser,
): Promise<Pick<Session, 'hook_claims'>> {
  const isAsked = hasLoginHook(session.login_app_id) && !asksAtLoginOnly();
  return isAsked ? askAboutRefresh(session, user) : {};
}

/**
 * Asks the login hook about a refresh. A refusal ends the session; a failure is
 * `temporarily_unavailable`.
 */
async function askAboutRefresh(
  session: Session,
  user: LoginUser,
): Promise<Pick<Session, 'hook_claims'>> {
  const { login_user_id, session_id } = session;
  const event = {
    event: 'refresh',
    login_app_id: session.login_app_id,
    login_user_id,
    external_id: user.external_id,
    guest: guestClaim(user),
    session_id,
    client_id: session.client_id,
    previous_claims: hookClaimsIn(session.hook_claims),
  } as const;
  try {
    return { hook_claims: await askLoginHook(event, identityOfLogin(session, user)) };
  } catch (error) {
    const isRefusal = error instanceof ServiceError;
    if (!isRefusal) throw new ServiceError('temporarily_unavailable', noAnswer);
    await endSession(login_user_id, session_id, 'hook', 'hook');
    throw error;
  }
}

/** The identity that a session began with; undefined if the person has unlinked it. */
function identityOfLogin({ identity_id }: Session, { identities }: LoginUser) {
  const identity = identities.find((one) => one.identity_id === identity_id);
  const provider = providerIds.find((one) => one === identity?.provider);
  return identity && provider ? { ...identity, provider } : undefined;
}

const noAnswer = 'The login could not be checked; send the request again.';

const invalidToken = (reason: LogReason): ServiceError =>
  new ServiceError('invalid_grant', 'The refresh token is not valid for this client.', reason);
