import { timestamp } from '../../foundation/clock.ts';
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
import { newSessionPrefix } from '../../login-users/session-ids.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import type { TokenPlace } from '../../providers/provider-token.ts';
import type { ReceivedToken } from '../../providers/received-token.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import { type Item, type UpdateOutcome, updateItem } from '../../storage/items.ts';
import {
  findIndexItem,
  type IdentityIndexItem,
  isFirst,
  type Owner,
  ownerOfFirst,
  releaseIdentity,
} from '../identities/identity-index.ts';
import { decideOnToken, noteStored, type TokenChange } from '../identities/store-token.ts';
import { attributesOfVerified } from '../identities/verified-attributes.ts';
import { askLoginHook, hasLoginHook, tryLoginHook } from '../login-hook.ts';
import { sessionOf, slotsInRing } from './new-session.ts';
import type { Session } from './session.ts';

/** A login that a provider has verified. */
interface VerifiedLogin {
  provider: ProviderId;
  verified: VerifiedIdentity;
  /** The provider's refresh token, if one came for it. */
  received: ReceivedToken;
  /** A name from the app, for the person to tell their sessions apart. */
  name: string | undefined;
}

interface Login extends TokenPlace {
  verified: VerifiedIdentity;
  /** Whether the login of somebody new creates a Login User. */
  mayCreate: boolean;
}

/**
 * Records the login of a verified identity, and starts a session, which the caller stores.
 * @throws ServiceError `invalid_grant` when the Login User is blocked, or would be new where
 *   sign-ups are closed
 */
export async function logIn(
  client: AuthenticatedClient,
  { provider, verified, received, name }: VerifiedLogin,
): Promise<Session> {
  const { clientId, loginAppId } = client;
  const place = { loginAppId, provider };
  let owner = ownerOfFirst(firstIndexId(loginAppId, verified));

  const logInOnce = async (): Promise<Session | undefined> => {
    const { isOpen } = await findStatus(loginAppId);
    const login = { ...place, verified, mayCreate: isOpen };

    // 1. The login hook decides about the current owner, when nothing else is known to refuse. A
    // check of new versions only tries whether it could.
    await tryLoginHook(loginAppId);
    const asked = hasLoginHook(loginAppId) ? await askAboutLogin(clientId, login) : undefined;
    if (asked) owner = asked.owner;
    annotateLog({ login_user_id: owner.login_user_id });

    // 2. What is stored of the owner decides where the provider's refresh token goes.
    const tokenChange = await decideOnToken(owner, place, received);

    // 3. One conditional write on the expected owner records and counts the login.
    const prefix = newSessionPrefix();
    const outcome = await recordLogin(owner, login, prefix, tokenChange);

    // 4. Somebody else may have the identity by now: then it is their login.
    if (!outcome.done) {
      owner = await nextOwner(owner, login, outcome.found);
      return undefined;
    }

    // 5. The session that begins with it.
    noteStored(received);
    const hookClaims = asked?.hook_claims;
    return sessionOf({ client, owner, verified, name, hookClaims, prefix, outcome });
  };

  return retryOnConflict(logInOnce, 'Others keep linking and unlinking the identity.');
}

/** @throws ServiceError `invalid_grant` for a blocked person, of whom the hook is not asked */
async function askAboutLogin(client_id: string, login: Login) {
  const { loginAppId, provider, verified } = login;
  const indexItem = await findIndexItem(loginAppId, verified);
  const owner = ownerAt(indexItem, login);
  const user = isFirst(owner) ? indexItem.first : await readLoginUser(owner.login_user_id);
  if (user?.blocked_at !== undefined) throw refusalOfBlocked(owner);

  const event = {
    event: 'login',
    login_app_id: loginAppId,
    login_user_id: owner.login_user_id,
    external_id: user?.external_id,
    first_login: indexItem.owner === undefined,
    client_id,
  } as const;
  const hook_claims = await askLoginHook(event, { provider, ...verified });
  return { owner, hook_claims };
}

/** Records and counts a login by one conditional write. */
function recordLogin(
  owner: Owner,
  login: Login,
  prefix: string,
  tokenChange: TokenChange,
): Promise<UpdateOutcome> {
  const { login_user_id, identity_id } = owner;
  const now = timestamp();
  const ofLogin = {
    last_login_at: now,
    last_provider: login.provider,
    last_session_id: prefix,
    session_places: slotsInRing(),
    [identityAttributes.lastLogin(identity_id)]: now,
    ...attributesOfVerified(identity_id, login.verified),
    ...tokenChange.set,
  };
  const ofIdentity = isFirst(owner)
    ? changeByFirstIdentity(owner, login, now)
    : changeByLinkedIdentity(owner);
  return updateItem(loginUserItem(login_user_id), {
    set: { ...ofIdentity.set, ...ofLogin },
    setIfAbsent: ofIdentity.setIfAbsent,
    copy: tokenChange.copy,
    count: { sessions_begun: { by: 1 } },
    when: ofIdentity.when,
  });
}

/**
 * The change by a login with somebody's first identity: it creates the Login User at the first
 * login, if it may.
 */
function changeByFirstIdentity({ login_user_id }: Owner, login: Login, now: string) {
  const { loginAppId, provider, verified, mayCreate } = login;
  const { namespace, subject } = verified;
  const person = { login_user_id, login_app_id: loginAppId };
  const whileTheirs = {
    blocked_at: { exists: false },
    next_slot: { exists: false },
    linked_to: { exists: false },
  };
  return {
    set: { ...person, provider, namespace, subject },
    setIfAbsent: { created_at: now, ...placeAmongPeople(person, now) },
    when: mayCreate ? whileTheirs : { ...whileTheirs, created_at: { exists: true } },
  };
}

/** The change by a login with an identity that the person has linked. */
const changeByLinkedIdentity = ({ identity_id }: Owner) => ({
  set: {},
  setIfAbsent: {},
  when: { ...whileActive, [identityAttributes.linked(identity_id)]: { exists: true } },
});

/**
 * The owner of an identity whose login was not recorded for the expected one.
 * @param found the item of the expected owner, which did not meet the condition
 * @throws ServiceError `invalid_grant`
 */
async function nextOwner(expected: Owner, login: Login, found: Item | undefined): Promise<Owner> {
  const { login_user_id, identity_id } = expected;
  const { loginAppId, verified } = login;
  const withFirst = isFirst(expected);
  const isTheirs = withFirst ? isFirstIn(found) : isLinkedIn(found, identity_id);
  if (isTheirs && found?.blocked_at !== undefined) throw refusalOfBlocked(expected);

  // The item that was found may be the first index item of the identity, which then is read already.
  const isFirstIndexItem = withFirst && login_user_id === firstIndexId(loginAppId, verified);
  const indexItem = await findIndexItem(loginAppId, verified, isFirstIndexItem ? found : undefined);
  if (withFirst || indexItem.owner?.identity_id !== identity_id) return ownerAt(indexItem, login);

  // The index item leads to somebody who no longer has the identity.
  await releaseIdentity(indexItem.id, identity_id);
  return ownerOfFirst(indexItem.id);
}

/** Whether the item of a Login User still is the one where their first identity logs in. */
const isFirstIn = (found: Item | undefined): boolean =>
  found?.next_slot === undefined && found?.linked_to === undefined;

/** Whether a person has a linked identity, and is not being deleted. */
const isLinkedIn = (found: Item | undefined, identityId: string): boolean =>
  found?.deleted_at === undefined && found?.[identityAttributes.linked(identityId)] !== undefined;

/** The error for the login of a blocked person, which is logged. */
function refusalOfBlocked({ login_user_id }: Owner): ServiceError {
  logEvent('login_user_refused', { login_user_id });
  return blockedError('invalid_grant');
}

/**
 * The owner of an identity, or the one that its login would create.
 * @throws ServiceError `invalid_grant` if it may not
 */
function ownerAt({ id, owner }: IdentityIndexItem, { mayCreate }: Login): Owner {
  if (owner) return owner;
  if (mayCreate) return ownerOfFirst(id);
  throw new ServiceError('invalid_grant', 'The Login App lets nobody new in.', 'sign_ups_closed');
}
