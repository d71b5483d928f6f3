import { epochSeconds, timestamp } from '../../foundation/clock.ts';
import { environmentNumber } from '../../foundation/environment.ts';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import type { VerifiedIdentity } from '../../login-users/linked-identity.ts';
import type { LoginUser } from '../../login-users/login-user.ts';
import { sessionIdInSlot } from '../../login-users/session-ids.ts';
import { countersIn } from '../../login-users/sessions-of-person.ts';
import { deleteItem, putItem, type UpdateOutcome } from '../../storage/items.ts';
import { sessionsOfProviderSessionList } from '../../storage/keys.ts';
import type { Owner } from '../identities/identity-index.ts';
import { externalIdForTokens, type Session, sessionItem } from './session.ts';
import { endOf } from './session-lifetime.ts';

/**
 * The number of slots in the ring of a person's sessions, which is the most that are open: the next
 * login replaces the oldest.
 */
export const slotsInRing = environmentNumber('MAX_SESSIONS');

/** A login that was recorded, and what the tokens of its session get from it. */
interface RecordedLogin {
  client: AuthenticatedClient;
  /** The person, with the identity of the login unless they are a guest. */
  owner: Pick<Owner, 'login_user_id'> & Partial<Owner>;
  /** Details of the login that the provider told; none of a guest. */
  verified?: Partial<VerifiedIdentity>;
  /** Epoch seconds at which a guest has to be gone; undefined for a person. */
  guestEnd?: number;
  /** A name from the app, for the person to tell their sessions apart. */
  name: string | undefined;
  /** The claims of the login hook, in JSON. */
  hookClaims: string | undefined;
  /** The random part of the session's id. */
  prefix: string;
  /** The outcome of the write that recorded the login. */
  outcome: Extract<UpdateOutcome, { done: true }>;
}

/** A new session, which is stored with the counters of the person's sessions at its login. */
type NewSession = Session &
  Pick<LoginUser, 'sessions_ended_at' | 'sessions_ended_before' | 'sessions_ended_except'>;

/** The session that begins with a login. The number of the login gives it a slot. */
export function sessionOf(login: RecordedLogin): NewSession {
  const { client, owner, verified = {}, guestEnd, name, hookClaims, prefix, outcome } = login;
  const { before, after } = outcome;
  const counters = countersIn(after ?? before);
  const { sessions_begun = 0, sessions_ended_at } = counters;
  const { sessions_ended_before, sessions_ended_except } = counters;
  // The item after the write has counted this login already.
  const ordinal = after ? sessions_begun - 1 : sessions_begun;
  const started_at = epochSeconds();
  const session: Session = {
    login_user_id: owner.login_user_id,
    login_app_id: client.loginAppId,
    client_id: client.clientId,
    proof_key: client.proofKey,
    name,
    login_claims: verified.login_claims,
    auth_time: verified.auth_time,
    provider_session: verified.provider_session,
    provider_session_end: verified.session_end,
    external_id: externalIdForTokens(after ?? before),
    identity_id: owner.identity_id,
    guest: guestEnd === undefined ? undefined : true,
    hook_claims: hookClaims,
    ordinal,
    session_id: sessionIdInSlot(prefix, ordinal % slotsInRing()),
    generation: 0,
    started_at,
    expires_at: endOf(started_at, verified.session_end, guestEnd),
    created_at: timestamp(),
  };
  // The session replaces an earlier one in its slot, and subscribers are told how that one ended.
  // The stored item says for them whether it had ended before, together with all sessions.
  return { ...session, sessions_ended_at, sessions_ended_before, sessions_ended_except };
}

/**
 * Stores a new session in its slot. After a failure nobody gets its tokens, so it is removed if
 * possible.
 */
export async function putSession(session: Session): Promise<void> {
  const { login_user_id, login_app_id, session_id, provider_session } = session;
  const key = sessionItem(login_user_id, session_id);
  const placement = provider_session && {
    list: sessionsOfProviderSessionList(login_app_id, provider_session),
    list_position: session_id,
  };
  try {
    await putItem(key, { ...session, ...placement });
  } catch (error) {
    await deleteItem(key).catch(() => undefined);
    throw error;
  }
}
