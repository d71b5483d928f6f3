import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { isId } from '../foundation/ids.ts';
import { invalid, ServiceError } from '../foundation/service-error.ts';
import { cached } from '../storage/cache.ts';
import { type ItemOf, itemKind, readItem, updateItem } from '../storage/items.ts';
import { loginAppKey } from '../storage/keys.ts';

/** The most new guests in an hour, unless an operator sets other numbers. */
export const defaultGuestsPerHour = 2_000;
export const defaultGuestsPerClient = 1_000;

/** The rules for guests of a Login App, as an operator sets them. */
const guestRulesSchema = v.object({
  /** Days after which a guest is gone, however often their session is refreshed. */
  days: v.number(),
  /** The most new guests of the Login App in an hour. */
  per_hour: v.number(),
  /** The most new guests of each of its clients in an hour. */
  per_client_per_hour: v.number(),
});
export type GuestRules = v.InferOutput<typeof guestRulesSchema>;

/** The attributes of a Login App that say whether it is in use, and by whom. */
export const statusAttributes = {
  /** While it is set, nobody logs in, and no token of the Login App is accepted. */
  disabled_at: v.optional(v.string()),
  /** While it is set, only people who exist log in. */
  sign_ups_closed_at: v.optional(v.string()),
  /** Absent while the Login App lets in no guests. */
  guests: v.optional(guestRulesSchema),
  /** Epoch seconds; sessions that began before have ended. */
  sessions_valid_from: v.optional(v.number()),
  /**
   * `sessions_valid_from` before the latest logout, 0 for none; absent when there is no logout to
   * undo.
   */
  sessions_valid_from_before: v.optional(v.number()),
};
const statusItem = itemKind(v.object(statusAttributes), loginAppKey);
type Stored = ItemOf<typeof statusItem>;

const readStored = (loginAppId: string) => readItem(statusItem(loginAppId));

const statusOf = (stored: Stored | undefined) => ({
  isEnabled: stored !== undefined && stored.disabled_at === undefined,
  /** Whether people may log in for the first time. */
  isOpen: stored?.sign_ups_closed_at === undefined,
  /** Undefined while no guests are let in. */
  guests: stored?.guests,
  sessionsValidFrom: stored?.sessions_valid_from ?? 0,
});
export type LoginAppStatus = ReturnType<typeof statusOf>;

const statuses = cached((loginAppId) => isId('la_…', loginAppId), readStored);

/**
 * The status of a Login App, up to 30 s old. Only for ids of authenticated clients and our tokens:
 * others would cost reads.
 */
export const findStatus = async (loginAppId: string) => statusOf(await statuses.find(loginAppId));

export const readStatus = async (loginAppId: string) => statusOf(await readStored(loginAppId));

/**
 * Ends every session of a Login App that began until now or, as clocks differ, in the next two
 * seconds.
 * @throws ServiceError as `replaceLogout` does
 */
export const endAllSessions = (loginAppId: string) =>
  replaceLogout(loginAppId, ({ sessions_valid_from }) => ({
    sessions_valid_from: epochSeconds() + 2,
    sessions_valid_from_before: sessions_valid_from ?? 0,
  }));

/**
 * Takes the latest logout back: the sessions that it alone ended go on.
 * @throws ServiceError as `replaceLogout` does, and when there is no logout to undo
 */
export const undoLogout = (loginAppId: string) =>
  replaceLogout(loginAppId, ({ sessions_valid_from_before: before }) => {
    if (before === undefined) throw invalid('The Login App has no logout that can be undone.');
    return { sessions_valid_from: before, sessions_valid_from_before: undefined };
  });

/**
 * Replaces the latest logout unless another one came first. Two logouts within a second have the
 * same time, so the time before is compared, too.
 * @param next the attributes after it, from those that are stored
 * @throws ServiceError when there is no such Login App, or another logout came first
 */
async function replaceLogout(login_app_id: string, next: (stored: Stored) => Stored) {
  const stored = await readStored(login_app_id);
  if (!stored) throw new ServiceError('not_found', 'There is no such Login App.');
  const set = next(stored);
  const { done } = await updateItem(statusItem(login_app_id), {
    set,
    when: {
      pk: { exists: true },
      sessions_valid_from: { is: stored.sessions_valid_from },
      sessions_valid_from_before: { is: stored.sessions_valid_from_before },
    },
  });
  if (done) return { login_app_id, sessions_valid_from: set.sessions_valid_from };
  throw invalid(
    'Somebody else logged the Login App out meanwhile; nothing was changed. Run the command again.',
  );
}
