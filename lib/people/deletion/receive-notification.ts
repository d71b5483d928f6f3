import * as v from 'valibot';
import { epochSeconds, isoTime } from '../../foundation/clock.ts';
import type { LogEvents } from '../../log/events.ts';
import { logEvent } from '../../log/log.ts';
import { annotateLog } from '../../log/request-fields.ts';
import { type LoginUser, loginUserItem, readLoginUser, whileExisting } from '../../login-users/login-user.ts';
import { type SignedEvent, verifySignedRequest } from '../../providers/oauth2/signed-request.ts';
import {
  longestAge,
  type MessageForm,
  type Notification,
  notAccepted,
  verifyLogoutToken,
  verifyNotification,
} from '../../providers/oidc/notification.ts';
import { verifySecurityEvents } from '../../providers/oidc/security-events.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { protocolOf } from '../../providers/providers.ts';
import type { StoredSettings } from '../../providers/settings/encryption.ts';
import { readLoginSettings } from '../../providers/settings/issuers.ts';
import { findProviderSettingsForAnybody, notSetUp } from '../../providers/settings/stored.ts';
import { itemKind, putItem, readItem, updateItem } from '../../storage/items.ts';
import { notificationKey } from '../../storage/keys.ts';
import { confirmedOwner, findIndexItem, type IdentityIndexItem } from '../identities/identity-index.ts';
import { endSessionsAtProvider, endSessionsBegunBy } from '../sessions/end-sessions.ts';
import { deleteLoginUser, hasBegun } from './delete-login-user.ts';

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
  const { id, notifications, receipt } = await verify(message.text).catch((error) => {
    throw notAccepted(error, message.form);
  });
  const isRepeated = id !== undefined && (await readItem(notificationItem(loginAppId, id))) !== undefined;
  annotateLog({ outcome: isRepeated ? 'repeated' : 'ignored' });
  if (isRepeated) return receipt;
  for (const notification of notifications) {
    const done = await act(loginAppId, notification, signal);
    annotateLog({ outcome: done.outcome });
    logEvent('provider_notified', { ...done, confirmation_code: receipt?.confirmation_code });
  }
  // Not before: a provider that got no answer sends it again, which finishes what was interrupted.
  if (id !== undefined)
    await putItem(notificationItem(loginAppId, id), { expires_at: epochSeconds() + longestAge + 86_400 });
  return receipt;
}

const notificationItem = itemKind(v.object({ expires_at: v.number() }), notificationKey);

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

async function act(
  loginAppId: string,
  { kind, person, providerSession, issuedAt, action, isHijacking = false }: Notification,
  signal: AbortSignal | undefined,
): Promise<LogEvents['provider_notified']> {
  const indexItem = person && (await findIndexItem(loginAppId, person));
  const owner = indexItem && (await confirmedOwner(indexItem));
  const user = owner && (await readLoginUser(owner.login_user_id));
  const finished = indexItem && (await finishDeletionsAt(indexItem, owner !== undefined, signal));
  const login_user_id = user?.login_user_id ?? finished;
  if (login_user_id !== undefined) annotateLog({ login_user_id });
  const isOutdated = owner && user && issuedAt < latestLogin(user, owner.identity_id);
  if (isHijacking && user && !isOutdated) {
    // For each message, since subscribers are told.
    const change = { set: { hijacked_at: isoTime(issuedAt) }, when: whileExisting };
    await updateItem(loginUserItem(user.login_user_id), change);
  }
  if (action === 'nothing') return { kind, outcome: 'nothing', login_user_id };
  if (action === 'end_sessions' && providerSession !== undefined && (user || !person)) {
    const whose = await endSessionsAtProvider(loginAppId, login_user_id, providerSession, issuedAt);
    if (whose !== undefined) {
      annotateLog({ login_user_id: whose });
      return { kind, outcome: 'session_ended', login_user_id: whose };
    }
  }
  if (login_user_id === undefined) return { kind, outcome: 'person_unknown' };
  if (!owner || !user) return { kind, outcome: 'deleted', login_user_id };
  if (isOutdated) return { kind, outcome: 'outdated', login_user_id };
  // A blocked person who is deleted could come back as somebody new.
  if (action === 'delete' && !user.blocked_at) {
    await deleteLoginUser(login_user_id, 'provider', undefined, signal);
    return { kind, outcome: 'deleted', login_user_id };
  }
  await endSessionsBegunBy(login_user_id, issuedAt);
  return { kind, outcome: 'sessions_ended', login_user_id };
}

/** Finishes interrupted deletions of people who had the identity. @returns the id of the last one */
async function finishDeletionsAt(
  indexItem: IdentityIndexItem,
  isOwned: boolean,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  const former = isOwned ? undefined : indexItem.owner?.login_user_id;
  const isUnfinished = former !== undefined && (await hasBegun(former));
  const ids = [...indexItem.unfinished, ...(isUnfinished ? [former] : [])];
  let finished: string | undefined;
  for (const id of ids) if (await deleteLoginUser(id, 'provider', undefined, signal)) finished = id;
  return finished;
}

/** Epoch seconds of the latest login with the identity, or of when it was linked or imported. */
function latestLogin({ identities, last_login_at }: LoginUser, identityId: string): number {
  const identity = identities.find(({ identity_id }) => identity_id === identityId);
  return Math.floor(Date.parse(identity?.last_login_at ?? identity?.linked_at ?? last_login_at) / 1000);
}
