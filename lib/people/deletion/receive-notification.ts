import * as v from 'valibot';
import { epochSeconds, isoTime } from '../../foundation/clock.ts';
import type { LogEvents } from '../../log/events.ts';
import { logEvent } from '../../log/log.ts';
import { annotateLog } from '../../log/request-fields.ts';
import type { UserIdentity } from '../../login-users/linked-identity.ts';
import { loginUserItem, whileExisting } from '../../login-users/login-user.ts';
import { type SignedEvent, verifySignedRequest } from '../../providers/oauth2/signed-request.ts';
import {
  longestAge,
  type MessageForm,
  type Notification,
  notAccepted,
  refused,
  verifyLogoutToken,
  verifyNotification,
} from '../../providers/oidc/notification.ts';
import { verifySecurityEvents } from '../../providers/oidc/security-events.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { protocolOf } from '../../providers/providers.ts';
import type { StoredSettings } from '../../providers/settings/encryption.ts';
import { readLoginSettings } from '../../providers/settings/issuers.ts';
import { findProviderSettingsForAnybody, notSetUp } from '../../providers/settings/stored.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import { itemKind, putItem, readItem, updateItem } from '../../storage/items.ts';
import { notificationKey } from '../../storage/keys.ts';
import { findIndexItem, ownerOf } from '../identities/identity-index.ts';
import { otherThan, unlinkForProvider } from '../identities/link-identity.ts';
import { endSessionsAtProvider, endSessionsBegunBy } from '../sessions/end-sessions.ts';
import { deleteLoginUser } from './delete-login-user.ts';

export interface Message {
  form: MessageForm;
  text: string;
  /** For a signed request. */
  event?: SignedEvent | undefined;
}

/** Milliseconds to wait for revocations of tokens. Kakao waits 3 s for our answer. */
const patience = 1_500;

/**
 * Does what the provider settings say when a provider reports something about a person, unless they have logged in with the
 * identity since. @returns the answer to a request to delete somebody's data
 * @throws ServiceError `invalid_request` for a message that is not the provider's, ProviderFailure
 */
export async function receiveNotification(loginAppId: string, provider: ProviderId, message: Message) {
  // Apple waits.
  const signal = message.form === 'payload' ? undefined : AbortSignal.timeout(patience);
  const stored = await findProviderSettingsForAnybody(loginAppId, provider);
  if (!stored) throw notSetUp(provider);
  const verify = verifierOf(stored, provider, message);
  annotateLog({ login_app_id: loginAppId, provider });
  const { id, event, notifications, receipt } = await verify(message.text).catch((error) => {
    throw notAccepted(error, message.form);
  });
  const earlier = id === undefined ? undefined : await readItem(notificationItem(loginAppId, id));
  if (earlier && earlier.event !== event)
    throw refused(`The ${message.form} came as ${earlier.event} before.`);
  annotateLog({ outcome: earlier ? 'repeated' : 'ignored' });
  if (earlier) return receipt;
  let isSettled = true;
  for (const notification of notifications) {
    const done = await act(loginAppId, notification, signal);
    annotateLog({ outcome: done.outcome });
    logEvent('provider_notified', { ...done, confirmation_code: receipt?.confirmation_code });
    // The index may not show the session yet.
    const mayFollow = notification.person === undefined && notification.providerSession !== undefined;
    if (mayFollow && done.outcome === 'person_unknown') isSettled = false;
  }
  // Not before: a provider that got no answer sends it again, which finishes what was interrupted.
  const expires_at = epochSeconds() + longestAge + 86_400;
  if (id !== undefined && isSettled) await putItem(notificationItem(loginAppId, id), { expires_at, event });
  return receipt;
}

/** A message that was received, with the event that the address told, if it did. */
const notificationItem = itemKind(
  v.object({ expires_at: v.number(), event: v.optional(v.string()) }),
  notificationKey,
);

function verifierOf(stored: StoredSettings, provider: ProviderId, { form, event }: Message) {
  if (form === 'signed_request') {
    const protocol = protocolOf(provider);
    if (protocol.name !== 'oauth2') throw notSetUp(provider);
    return async (text: string) => verifySignedRequest(await protocol.read(stored), text, event);
  }
  const { idTokens } = readLoginSettings(stored.settings);
  if (idTokens.length === 0) throw notSetUp(provider);
  return (text: string) => verifiers[form](idTokens, text);
}
const verifiers = {
  payload: verifyNotification,
  secevent: verifySecurityEvents,
  logout_token: verifyLogoutToken,
} as const;

type Outcome = LogEvents['provider_notified'];

/** Does what a notification says, about a person or a session alone. */
async function act(
  loginAppId: string,
  notification: Notification,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const { kind, person, action } = notification;
  let first: Owner | undefined;
  const actOnce = async (): Promise<Outcome | undefined> => {
    const owner = person && (await ownerOf(await findIndexItem(loginAppId, person)));
    if (owner) {
      annotateLog({ login_user_id: owner.user.login_user_id });
      first ??= owner;
      return actOnOwner(owner, notification, isOutdated(owner, first, notification), signal);
    }
    if (action === 'nothing') return { kind, outcome: 'nothing' };
    const ended = person ? undefined : await endAtProvider(loginAppId, undefined, notification);
    return ended ?? { kind, outcome: 'person_unknown' };
  };
  return retryOnConflict(actOnce, 'The person keeps changing.');
}

type Owner = NonNullable<Awaited<ReturnType<typeof ownerOf>>>;

/** Whether the person has logged in with the identity since the notification, or since they were first read. */
const isOutdated = ({ identity }: Owner, first: Owner, { issuedAt }: Notification): boolean =>
  issuedAt < latestLogin(identity) || identity.last_login_at !== first.identity.last_login_at;

/** Epoch seconds of the latest login with an identity, or of when it was linked or imported. */
const latestLogin = ({ last_login_at, linked_at }: UserIdentity): number =>
  Math.floor(Date.parse(last_login_at ?? linked_at) / 1000);

/**
 * Does what a notification says about an identity. It speaks for the whole person only if they have
 * no other: whoever could link one to somebody's account must not gain power over the account.
 * @returns undefined when the person has changed since they were read
 */
async function actOnOwner(
  { user, identity }: Owner,
  notification: Notification,
  outdated: boolean,
  signal: AbortSignal | undefined,
): Promise<Outcome | undefined> {
  const { kind, issuedAt, action, isHijacking = false } = notification;
  const { login_user_id, login_app_id, sessions_begun, linked_identities } = user;
  const about = { kind, login_user_id };
  if (isHijacking && !outdated) {
    // For each message, since subscribers are told.
    const change = { set: { hijacked_at: isoTime(issuedAt) }, when: whileExisting };
    await updateItem(loginUserItem(login_user_id), change);
  }
  if (action === 'nothing') return { ...about, outcome: 'nothing' };
  const ended = await endAtProvider(login_app_id, login_user_id, notification);
  if (ended) return ended;
  if (outdated) return { ...about, outcome: 'outdated' };
  const other = otherThan(user, identity);
  // A blocked person could come back as somebody new.
  const isLeaving = action === 'delete' && user.blocked_at === undefined;
  const noLogin = { sessions_begun: { is: sessions_begun } };
  if (isLeaving && !other) {
    // Nor did they link another identity.
    const when = { ...noLogin, linked_identities: { is: linked_identities } };
    const deleted = await deleteLoginUser(login_user_id, 'provider', { signal, when });
    return deleted && { ...about, outcome: 'deleted' };
  }
  await endSessionsBegunBy(login_user_id, issuedAt, other && identity);
  if (!isLeaving || !other) return { ...about, outcome: 'sessions_ended' };
  const isUnlinked = await unlinkForProvider(user, identity, { other, when: noLogin, signal });
  return isUnlinked ? { ...about, outcome: 'unlinked' } : undefined;
}

/** Ends the session that began in the provider's session which a notification names. Undefined if it names none that is stored. */
async function endAtProvider(
  loginAppId: string,
  loginUserId: string | undefined,
  { kind, providerSession, issuedAt, action }: Notification,
): Promise<Outcome | undefined> {
  if (action !== 'end_sessions' || providerSession === undefined) return undefined;
  const login_user_id = await endSessionsAtProvider(loginAppId, loginUserId, providerSession, issuedAt);
  if (login_user_id === undefined) return undefined;
  annotateLog({ login_user_id });
  return { kind, outcome: 'session_ended', login_user_id };
}
