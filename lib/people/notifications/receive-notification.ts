import * as v from 'valibot';
import { epochSeconds } from '../../foundation/clock.ts';
import { logEvent } from '../../log/log.ts';
import { annotateLog } from '../../log/request-fields.ts';
import {
  longestAge,
  type Notification,
  type Received,
  refused,
} from '../../providers/notifications/notification.ts';
import type { ProviderId } from '../../providers/provider-ids.ts';
import { itemKind, putItem, readItem } from '../../storage/items.ts';
import { notificationKey } from '../../storage/keys.ts';
import { actOn, type Outcome } from './act-on-notification.ts';
import { type Message, verifyMessage } from './verify-message.ts';

/** Milliseconds to wait for revocations of tokens. Kakao waits 3 s for our answer. */
const revocationTimeout = 1_500;

/** Seconds for which a message is remembered: a day longer than it counts. */
const rememberedFor = longestAge + 86_400;

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
): Promise<Received['receipt']> {
  // Apple waits for as long as it takes.
  const isPatient = message.form === 'payload';
  const signal = isPatient ? undefined : AbortSignal.timeout(revocationTimeout);

  // 1. The message is the provider's.
  const received = await verifyMessage(loginAppId, provider, message);

  // 2. It counts once.
  if (await isRepeated(loginAppId, received, message)) {
    annotateLog({ outcome: 'repeated' });
    return received.receipt;
  }

  // 3. Each of its notifications has an effect.
  const isSettled = await actOnAll(loginAppId, received, signal);

  // 4. It is remembered last: a provider that got no answer sends it again, which finishes what was
  // interrupted.
  if (isSettled) await remember(loginAppId, received);
  return received.receipt;
}

/**
 * Acts on the notifications of a message, one after the other.
 * @returns whether the message has had its effect, so that it changes nothing when it is repeated
 */
async function actOnAll(
  loginAppId: string,
  { notifications, receipt }: Received,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  annotateLog({ outcome: 'ignored' });
  let isSettled = true;
  for (const notification of notifications) {
    const done = await actOn(loginAppId, notification, signal);
    annotateLog({ outcome: done.outcome });
    logEvent('provider_notified', { ...done, confirmation_code: receipt?.confirmation_code });
    if (mayFollow(notification, done)) isSettled = false;
  }
  return isSettled;
}

/**
 * Whether a notification names a session alone that the index may not show yet. It counts when it
 * is sent again.
 */
const mayFollow = ({ person, providerSession }: Notification, { outcome }: Outcome): boolean =>
  person === undefined && providerSession !== undefined && outcome === 'person_unknown';

/** A message that was received, with its event if only the address told that. */
const notificationItem = itemKind(
  v.object({ expires_at: v.number(), event: v.optional(v.string()) }),
  notificationKey,
);

/**
 * Whether a message was received before. Messages without an id are never repeated.
 * @throws ServiceError `invalid_request` if it came with another event, since it counts for one
 *   alone
 */
async function isRepeated(
  loginAppId: string,
  { id, event }: Received,
  { form }: Message,
): Promise<boolean> {
  if (id === undefined) return false;
  const earlier = await readItem(notificationItem(loginAppId, id));
  if (!earlier) return false;
  if (earlier.event !== event) throw refused(`The ${form} came as ${earlier.event} before.`);
  return true;
}

async function remember(loginAppId: string, { id, event }: Received): Promise<void> {
  if (id === undefined) return;
  const expires_at = epochSeconds() + rememberedFor;
  await putItem(notificationItem(loginAppId, id), { expires_at, event });
}
