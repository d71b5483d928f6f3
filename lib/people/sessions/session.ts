import * as v from 'valibot';
import { epochSeconds } from '../../foundation/clock.ts';
import { optionalEnvironment, optionalEnvironmentSeconds } from '../../foundation/environment.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import type { LoginAppStatus } from '../../login-apps/status.ts';
import { loginClaimsSchema } from '../../login-users/linked-identity.ts';
import { loginUserIn, loginUserItem } from '../../login-users/login-user.ts';
import { readMergedUser } from '../../login-users/merged-user.ts';
import { begunItem, endWithOthers } from '../../login-users/sessions-of-person.ts';
import { forEachInBatches } from '../../storage/batches.ts';
import {
  deleteItem,
  type Item,
  type ItemOf,
  itemKind,
  readItem,
  readItems,
} from '../../storage/items.ts';
import { loginUserKey, loginUserPartition, sessionKey, sessionPrefix } from '../../storage/keys.ts';
import { readPartition } from '../../storage/lists.ts';

/**
 * Seconds after a refresh for which the replaced token is accepted.
 * @default no limit
 */
const graceSeconds = optionalEnvironmentSeconds('REFRESH_GRACE_SECONDS', Infinity);

export const sessionItem = itemKind(
  v.object({
    ...begunItem.entries,
    login_user_id: v.string(),
    login_app_id: v.string(),
    client_id: v.string(),
    /** A name from the app, for people to tell their sessions apart. */
    name: v.optional(v.string()),
    login_claims: v.optional(loginClaimsSchema),
    /** Epoch seconds at which the person authenticated at the provider, if it told. */
    auth_time: v.optional(v.number()),
    /** The identity of the login; absent in the sessions of 1.0.0. */
    identity_id: v.optional(v.string()),
    /** The latest claims of the login hook, in JSON: an item can't hold all numbers and levels. */
    hook_claims: v.optional(v.string()),
    /** The thumbprint of the key that refreshes it; absent for confidential clients. */
    proof_key: v.optional(v.string()),
    external_id: v.optional(v.string()),
    /** Whether it was a guest's when its latest tokens were issued. */
    guest: v.optional(v.literal(true)),
    /** The Login User into whom the guest had been merged then. */
    merged_into: v.optional(v.string()),
    /** The hash of the provider's session, if the provider may end this one. */
    provider_session: v.optional(v.string()),
    /** Epoch seconds at which the session at the provider ends, if it told. */
    provider_session_end: v.optional(v.number()),
    generation: v.number(),
    /** Epoch seconds of the last refresh. */
    refreshed_at: v.exactOptional(v.number()),
    /** The latest generation with a late replay of the predecessor. */
    replayed_generation: v.exactOptional(v.number()),
    late_replays: v.exactOptional(v.number()),
    /** Epoch seconds of the idle or absolute end, whichever comes first. */
    expires_at: v.number(),
    created_at: v.string(),
    /** Set when it was ended on purpose. The item stays as long as a device may refer to it. */
    ended_at: v.exactOptional(v.string()),
    /** The reason for subscribers, unless it is `ended`. */
    end_reason: v.optional(v.picklist(['reuse', 'hook'])),
  }),
  sessionKey,
);
export type Session = ItemOf<typeof sessionItem>;

const externalIdSchema = v.optional(v.string());

/** The external id of a person or session, if the deployment puts it into tokens. */
export function externalIdForTokens(
  holder: { external_id?: unknown } | undefined,
): string | undefined {
  const isShown = optionalEnvironment('EXTERNAL_ID_IN_TOKENS') === 'true';
  return isShown ? v.parse(externalIdSchema, holder?.external_id) : undefined;
}

/** A session at one of its generations, as a refresh token names it. */
export type SessionGeneration = Pick<Session, 'login_user_id' | 'session_id' | 'generation'>;

/** A session as stored, even if it has expired or ended together with others. */
export async function readSession(
  loginUserId: string,
  sessionId: string,
): Promise<Session | undefined> {
  const stored = await readItem(sessionItem(loginUserId, sessionId));
  return sessionWithId(sessionId, stored);
}

/**
 * The session of an id, if it is the one that was read from its slot. A later session may have
 * got the same slot.
 */
export const sessionWithId = (
  sessionId: string,
  inSlot: Session | undefined,
): Session | undefined => (inSlot?.session_id === sessionId ? inSlot : undefined);

export async function readSessions(loginUserId: string): Promise<Session[]> {
  const { sessions } = await readPersonWithSessions(loginUserId);
  return sessions;
}

/** The item of a Login User and all stored sessions, in one query. */
export async function readPersonWithSessions(loginUserId: string) {
  const items = await readPartition(loginUserPartition(loginUserId));
  const personKey = loginUserKey(loginUserId);
  const person = items.find(({ sk }) => sk === personKey.sk);
  const sessions = items
    .filter(({ sk }) => String(sk).startsWith(sessionPrefix))
    .map((item) => withCurrentEnd(person, sessionItem.parse(item)));
  return { person, sessions };
}

/** A session with the time of its end, also if it ended together with others. */
function withCurrentEnd(person: Item | undefined, session: Session): Session {
  const ended_at = session.ended_at ?? endWithOthers(person, session);
  return ended_at === undefined ? session : { ...session, ended_at };
}

export const isOpen = ({ ended_at, expires_at }: Session): boolean =>
  ended_at === undefined && expires_at > epochSeconds();

/** Whether a session is active: open, and not ended with all sessions of its Login App. */
export const isActive = (session: Session, { sessionsValidFrom }: LoginAppStatus): boolean =>
  isOpen(session) && session.started_at >= sessionsValidFrom;

/**
 * Requires the key that a session is bound to. A session of a confidential client has none.
 * @throws ServiceError `invalid_dpop_proof` for another key
 */
export function requireSameKey(
  { proof_key }: Pick<Session, 'proof_key'>,
  { proofKey }: Pick<AuthenticatedClient, 'proofKey'>,
): void {
  if (proof_key === proofKey) return;
  const message = 'The proof must be by the key that the person logged in with.';
  throw new ServiceError('invalid_dpop_proof', message, 'proof_by_another_key');
}

/** Whether an access token is of the Login App and client of this session. */
export const hasIssued = (session: Session, claims: { aud: string; client_id: string }): boolean =>
  claims.aud === session.login_app_id && claims.client_id === session.client_id;

/**
 * The state of a refresh token: the predecessor is accepted until the current one is used.
 * @see RFC 9700 section 4.14
 */
export function stateOfGeneration(
  session: Session,
  generation: number,
): 'current' | 'predecessor' | 'outdated' {
  if (generation === session.generation) return 'current';
  if (generation !== session.generation - 1) return 'outdated';
  const { refreshed_at = 0 } = session;
  const secondsSinceRefresh = Math.max(0, epochSeconds() - refreshed_at);
  return secondsSinceRefresh < graceSeconds() ? 'predecessor' : 'outdated';
}

/** Reads a Login User and one of their sessions, in one request. */
export async function readLoginUserWithSession(loginUserId: string, sessionId: string) {
  const [person, found] = await readItems([
    loginUserItem(loginUserId),
    sessionItem(loginUserId, sessionId),
  ]);
  const session = sessionWithId(sessionId, found);
  return {
    user: loginUserIn(person),
    isDeleted: person?.deleted_at !== undefined,
    merged: person?.merged_into === undefined ? undefined : await readMergedUser(person),
    session: session && withCurrentEnd(person, session),
  };
}

/** Removes sessions from the table. There is no event of them: their person is gone. */
export async function removeSessions(sessions: Session[]): Promise<void> {
  await forEachInBatches(sessions, ({ login_user_id, session_id }) =>
    deleteItem(sessionItem(login_user_id, session_id)),
  );
}
