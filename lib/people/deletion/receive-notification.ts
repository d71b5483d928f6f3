import * as v from 'valibot';
import { epochSeconds } from '../../foundation/clock.ts';
import { logEvent } from '../../log/log.ts';
import { annotateLog } from '../../log/request-fields.ts';
import { readLoginSettings } from '../../providers/jwt/issuers-in-settings.ts';
import {
  longestAge,
  type MessageForm,
  type Notification,
  notAccepted,
  refused,
  verifyLogoutToken,
  verifyNotification,
} from '../../providers/notifications/notification.ts';
import { verifySecurityEvents } from '../../providers/notifications/security-events.ts';
import {
  type SignedEvent,
  verifySignedRequest,
} from '../../providers/notifications/signed-request.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { protocolOf } from '../../providers/providers.ts';
import type { StoredSettings } from '../../providers/settings/encryption.ts';
import { findProviderSettingsForAnybody, notSetUp } from '../../providers/settings/stored.ts';
import { itemKind, putItem, readItem } from '../../storage/items.ts';
import { notificationKey } from '../../storage/keys.ts';
import { actOn, type Outcome } from './act-on-notification.ts';

export interface Message {
  form: MessageForm;
  text: string;
  /** For a signed request. */
  event?: SignedEvent | undefined;
}

/** Milliseconds to wait for revocations of tokens. Kakao waits 3 s for our answer. */
const patience = 1_500;

/**
 * Does what the provider settings say when a provider reports something about a person, unless they
 * have logged in with the identity since.
 * @returns the answer to a request to delete somebody's data
 * @throws ServiceError `invalid_request` for a message that is not the provider's, ProviderFailure
 */
export async function receiveNotification(
  loginAppId: string,
  provider: ProviderId,
  message: Message,
) {
  // Apple waits.
  const signal = message.form === 'payload' ? undefined : AbortSignal.timeout(patience);
  const stored = await findProviderSettingsForAnybody(loginAppId, provider);
  if (!stored) throw notSetUp(provider);
  const verify = verifierOf(stored, provider, message);
  annotateLog({ login_app_id: loginAppId, provider });
  const { id, event, notifications, receipt } = await verify(message.text).catch((error) => {
    throw notAccepted(error, message.form);
  });
  if (id !== undefined && (await isRepeated(loginAppId, id, { event, form: message.form }))) {
    annotateLog({ outcome: 'repeated' });
    return receipt;
  }

  annotateLog({ outcome: 'ignored' });
  let isSettled = true;
  for (const notification of notifications) {
    const done = await actOn(loginAppId, notification, signal);
    annotateLog({ outcome: done.outcome });
    logEvent('provider_notified', { ...done, confirmation_code: receipt?.confirmation_code });
    if (mayFollow(notification, done)) isSettled = false;
  }

  // Not before: a provider that got no answer sends it again, which finishes what was interrupted.
  if (id !== undefined && isSettled) {
    const expires_at = epochSeconds() + longestAge + 86_400;
    await putItem(notificationItem(loginAppId, id), { expires_at, event });
  }
  return receipt;
}

/**
 * Whether a message names a session alone that the index may not show yet. It counts when it is
 * sent again.
 */
const mayFollow = ({ person, providerSession }: Notification, { outcome }: Outcome): boolean =>
  person === undefined && providerSession !== undefined && outcome === 'person_unknown';

/**
 * Whether a message was received before.
 * @throws ServiceError `invalid_request` if it came with another event, since it counts for one
 *   alone
 */
async function isRepeated(
  loginAppId: string,
  id: string,
  { event, form }: { event: string | undefined; form: MessageForm },
): Promise<boolean> {
  const earlier = await readItem(notificationItem(loginAppId, id));
  if (!earlier) return false;
  if (earlier.event !== event) throw refused(`The ${form} came as ${earlier.event} before.`);
  return true;
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
