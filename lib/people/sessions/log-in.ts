import { epochSeconds, timestamp } from '../../foundation/clock.ts';
import { environmentNumber, environmentSeconds } from '../../foundation/environment.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import { annotateLog } from '../../log/request-fields.ts';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { findStatus } from '../../login-apps/status.ts';
import { identityAttributes, type VerifiedIdentity } from '../../login-users/linked-identity.ts';
import {
  blockedError,
  firstIndexId,
  loginUserItem,
  placeAmongPeople,
  readLoginUser,
  whileActive,
} from '../../login-users/login-user.ts';
import { newSessionPrefix, sessionIdInSlot } from '../../login-users/session-ids.ts';
import { countersIn } from '../../login-users/sessions-of-person.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import type { TokenPlace } from '../../providers/provider-token.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import { deleteItem, type Item, putItem, updateItem } from '../../storage/items.ts';
import { sessionsOfProviderSessionList } from '../../storage/keys.ts';
import {
  findIndexItem,
  type IdentityIndexItem,
  isFirst,
  type Owner,
  ownerOfFirst,
  releaseIdentity,
} from '../identities/identity-index.ts';
import { changeBy, revokeUnlessStored } from '../identities/provider-tokens.ts';
import { askLoginHook, hasLoginHook } from '../login-hook.ts';
import { externalIdForTokens, type Session, sessionItem } from './session.ts';

/** Seconds after which a session that is not refreshed ends. */
const idleLifetime = environmentSeconds('SESSION_IDLE_SECONDS');
const absoluteLifetime = environmentSeconds('SESSION_ABSOLUTE_SECONDS');

/** The most open sessions of a person: the next login takes the place of the oldest. */
const sessionPlaces = environmentNumber('MAX_SESSIONS');

interface Login extends TokenPlace {
  verified: VerifiedIdentity;
  mayCreate: boolean;
}

/**
 * Records the login of a verified identity, and starts a session, which the caller stores.
 * @throws ServiceError `invalid_grant` when the Login User is blocked, or would be new where
 *   sign-ups are closed
 */
export async function logIn(
  { clientId, loginAppId, proofKey }: AuthenticatedClient,
  provider: ProviderId,
  verified: VerifiedIdentity,
  name?: string,
): Promise<Session> {
  const place = { loginAppId, provider };
  let owner = ownerOfFirst(firstIndexId(loginAppId, verified));
  const logInOnce = async () => {
    const { isOpen } = await findStatus(loginAppId);
    const login = { ...place, verified, mayCreate: isOpen };

    // 1. The login hook decides about the current owner, when nothing else is known to refuse.
    const asked = hasLoginHook(loginAppId) ? await askAboutLogin(clientId, login) : undefined;
    if (asked) owner = asked.owner;

    // 2. One conditional write on the expected owner records and counts the login.
    annotateLog({ login_user_id: owner.login_user_id });
    const prefix = newSessionPrefix();
    const outcome = await recordLogin(owner, login, prefix);

    // 3. Somebody else may have the identity by now: then it is their login.
    if (!outcome.done) {
      owner = await nextOwner(owner, login, outcome.found);
      return undefined;
    }

    // 4. The number of the login gives its session a place.
    const { before, after } = outcome;
    const { sessions_begun = 0, ...counters } = countersIn(after ?? before);
    const ordinal = after ? sessions_begun - 1 : sessions_begun;
    const started_at = epochSeconds();
    return {
      login_user_id: owner.login_user_id,
      login_app_id: loginAppId,
      client_id: clientId,
      proof_key: proofKey,
      name,
      login_claims: verified.login_claims,
      auth_time: verified.auth_time,
      provider_session: verified.provider_session,
      external_id: externalIdForTokens(after ?? before),
      identity_id: owner.identity_id,
      hook_claims: asked?.hook_claims,
      ordinal,
      session_id: sessionIdInSlot(prefix, ordinal % sessionPlaces()),
      generation: 0,
      started_at,
      expires_at: endOf(started_at),
      created_at: timestamp(),
      // They tell of the session whose place it takes whether that had ended.
      sessions_ended_at: counters.sessions_ended_at,
      sessions_ended_before: counters.sessions_ended_before,
      sessions_ended_except: counters.sessions_ended_except,
    };
  };
  return retryOnConflict(logInOnce, 'Others keep linking and unlinking the identity.').catch(
    (error) => revokeUnlessStored(error, owner.login_user_id, place, verified),
  );
}

/** @throws ServiceError `invalid_grant` for a blocked person, of whom the hook is not asked */
async function askAboutLogin(client_id: string, login: Login) {
  const { loginAppId, provider, verified } = login;
  const indexItem = await findIndexItem(loginAppId, verified);
  const owner = ownerAt(indexItem, login);
  const user = isFirst(owner) ? indexItem.first : await readLoginUser(owner.login_user_id);
  if (user?.blocked_at !== undefined) throw refusalOfBlocked(owner);
  const hook_claims = await askLoginHook(
    {
      event: 'login',
      login_app_id: loginAppId,
      login_user_id: owner.login_user_id,
      external_id: user?.external_id,
      first_login: indexItem.owner === undefined,
      client_id,
    },
    { provider, ...verified },
  );
  return { owner, hook_claims };
}

/**
 * Records and counts a login by one conditional write, which creates the Login User at the first
 * login.
 */
async function recordLogin(owner: Owner, login: Login, prefix: string) {
  const { login_user_id, identity_id } = owner;
  const { loginAppId, provider, verified, mayCreate } = login;
  const { namespace, subject } = verified;
  const now = timestamp();
  const said = await changeBy(owner, login, verified);
  const person = { login_user_id, login_app_id: loginAppId };
  const withFirst = isFirst(owner);
  return updateItem(loginUserItem(login_user_id), {
    set: {
      ...(withFirst && { ...person, provider, namespace, subject }),
      last_login_at: now,
      last_provider: provider,
      last_session_id: prefix,
      session_places: sessionPlaces(),
      [identityAttributes.lastLogin(identity_id)]: now,
      ...said.set,
    },
    copy: said.copy,
    setIfAbsent: withFirst ? { created_at: now, ...placeAmongPeople(person, now) } : {},
    count: { sessions_begun: { by: 1 } },
    when: withFirst
      ? {
          blocked_at: { exists: false },
          next_slot: { exists: false },
          linked_to: { exists: false },
          ...(!mayCreate && { created_at: { exists: true } }),
        }
      : { ...whileActive, [identityAttributes.linked(identity_id)]: { exists: true } },
  });
}

/**
 * The owner when the login was not recorded for the expected one, whose item was found.
 * @throws ServiceError `invalid_grant`
 */
async function nextOwner(expected: Owner, login: Login, found: Item | undefined): Promise<Owner> {
  const { login_user_id, identity_id } = expected;
  const { loginAppId, verified } = login;
  const withFirst = isFirst(expected);
  const isTheirs = withFirst
    ? found?.next_slot === undefined && found?.linked_to === undefined
    : found?.deleted_at === undefined &&
      found?.[identityAttributes.linked(identity_id)] !== undefined;
  if (isTheirs && found?.blocked_at !== undefined) throw refusalOfBlocked(expected);
  const known =
    login_user_id === firstIndexId(loginAppId, verified) && withFirst ? found : undefined;
  const indexItem = await findIndexItem(loginAppId, verified, known);
  if (withFirst || indexItem.owner?.identity_id !== identity_id) return ownerAt(indexItem, login);
  // The index item leads to somebody who no longer has the identity.
  await releaseIdentity(indexItem.id, identity_id);
  return ownerOfFirst(indexItem.id);
}

/** The error for the login of a blocked person, which the log tells of. */
function refusalOfBlocked({ login_user_id }: Owner): ServiceError {
  logEvent('login_user_refused', { login_user_id });
  return blockedError('invalid_grant');
}

/**
 * The owner of an identity, or the one that its login would create.
 * @throws ServiceError `invalid_grant` if it may not
 */
function ownerAt({ id, owner }: IdentityIndexItem, { mayCreate }: Login): Owner {
  if (owner || mayCreate) return owner ?? ownerOfFirst(id);
  throw new ServiceError('invalid_grant', 'The Login App lets nobody new in.', 'sign_ups_closed');
}

/**
 * Stores a new session at its place. After a failure nobody gets its tokens, so it is removed if
 * possible.
 */
export async function putSession(session: Session): Promise<void> {
  const { login_user_id, login_app_id, session_id, provider_session } = session;
  const place = provider_session && {
    list: sessionsOfProviderSessionList(login_app_id, provider_session),
    list_position: session_id,
  };
  try {
    await putItem(sessionItem(login_user_id, session_id), { ...session, ...place });
  } catch (error) {
    await deleteItem(sessionItem(login_user_id, session_id)).catch(() => undefined);
    throw error;
  }
}

/**
 * Epoch seconds of the idle or absolute end of a session that is used now, whichever comes first.
 */
export const endOf = (startedAt: number): number =>
  Math.min(epochSeconds() + idleLifetime(), startedAt + absoluteLifetime());
