import type { LogReason } from '../foundation/reasons.ts';
import { ServiceError } from '../foundation/service-error.ts';
import type { AuthenticatedClient } from '../login-apps/clients.ts';
import type { GuestRules } from '../login-apps/status.ts';
import { limitUses } from '../storage/limit-uses.ts';

const secondsInHour = 3600;
/** The most guests of one key of a phone in an hour: a phone needs one. */
const mostGuestsOfKey = 10;

/** A quota of guests in an hour: whose it is, how many, and what helps. */
interface GuestQuota {
  ids: [kind: string, ...string[]];
  most: number;
  message: string;
  reason: LogReason;
}

/**
 * Counts a new guest: for the key of a public client, for the client and for the Login App. The
 * narrowest comes first, so that a flood by one key uses up no quota of others.
 * @throws ServiceError `too_many_requests` that names the quota, for one too many in this hour
 */
export async function countGuest(
  { loginAppId, clientId, proofKey }: AuthenticatedClient,
  { per_hour, per_client_per_hour }: GuestRules,
): Promise<void> {
  if (proofKey !== undefined)
    await count({
      ids: ['guest of key', loginAppId, proofKey],
      most: mostGuestsOfKey,
      message: `One key may make ${mostGuestsOfKey} guests in an hour: go on with the session of the last one.`,
      reason: 'guests_of_key_exceeded',
    });
  await count({
    ids: ['guest of client', clientId],
    most: per_client_per_hour,
    message: `The client may make ${per_client_per_hour} guests in an hour: let the person log in, or try again later. An operator can allow more by login-apps set-guests --per-client-per-hour.`,
    reason: 'guests_of_client_exceeded',
  });
  await count({
    ids: ['guest of Login App', loginAppId],
    most: per_hour,
    message: `The Login App lets in ${per_hour} guests in an hour: let the person log in, or try again later. An operator can allow more by login-apps set-guests --per-hour.`,
    reason: 'guests_of_login_app_exceeded',
  });
}

async function count({ ids, most, message, reason }: GuestQuota): Promise<void> {
  const retryAfterSeconds = await limitUses({ most, seconds: secondsInHour }, ...ids);
  if (retryAfterSeconds === undefined) return;
  throw new ServiceError('too_many_requests', message, { reason, retryAfterSeconds });
}
