import * as v from 'valibot';
import { epochSeconds, timestamp } from '../foundation/clock.ts';
import { invalid, ServiceError } from '../foundation/service-error.ts';
import { cached } from '../storage/cache.ts';
import { type ItemOf, itemKind, readItem, updateItem, updateOwnItem } from '../storage/items.ts';
import { loginAppKey } from '../storage/keys.ts';

/** The attributes of a Login App that say whether it is in use. An operator sets them. */
export const statusAttributes = {
  /** While it is set, nobody logs in, and no token of the Login App is accepted. */
  disabled_at: v.optional(v.string()),
  /** While it is set, only people who exist log in. */
  sign_ups_closed_at: v.optional(v.string()),
  /** Epoch seconds. Sessions that began before have ended. */
  sessions_valid_from: v.optional(v.number()),
  /** `sessions_valid_from` as it was before the latest logout, 0 for none. Absent when there is no logout to undo. */
  sessions_valid_from_before: v.optional(v.number()),
};
const statusItem = itemKind(v.object(statusAttributes), loginAppKey);
type Stored = ItemOf<typeof statusItem>;

const readStored = (loginAppId: string) => readItem(statusItem(loginAppId));

const statusOf = (stored: Stored | undefined) => ({
  isEnabled: stored !== undefined && stored.disabled_at === undefined,
  /** Whether people may log in for the first time. */
  isOpen: stored?.sign_ups_closed_at === undefined,
  sessionsValidFrom: stored?.sessions_valid_from ?? 0,
});
export type LoginAppStatus = ReturnType<typeof statusOf>;

const findStored = cached(readStored);

/**
 * The status of a Login App, up to 30 s old, whether it grants or denies: a disabled one costs no more reads than another. Ask
 * only for that of an authenticated client or of a token of ours, so that nobody can make up ids.
 */
export const findStatus = async (loginAppId: string): Promise<LoginAppStatus> =>
  statusOf(await findStored([loginAppId], () => true));

export const readStatus = async (loginAppId: string): Promise<LoginAppStatus> =>
  statusOf(await readStored(loginAppId));

/** Disables a Login App, or closes it for new people; or undoes that. False when there is no such Login App. */
export const setStatus = (
  loginAppId: string,
  attribute: 'disabled_at' | 'sign_ups_closed_at',
  isSet: boolean,
): Promise<boolean> =>
  updateOwnItem(
    statusItem(loginAppId),
    isSet ? { setIfAbsent: { [attribute]: timestamp() } } : { remove: [attribute] },
  );

/**
 * Ends every session of a Login App that began before now, with one write. Sessions know the second in which they began,
 * and the clocks of instances differ a little, so those that begin within the next two seconds end as well.
 * @returns from when sessions are valid, in epoch seconds
 * @throws ServiceError when there is no such Login App, or somebody else changed it meanwhile
 */
export async function endAllSessions(loginAppId: string): Promise<number> {
  const stored = await requireStored(loginAppId);
  const sessions_valid_from = epochSeconds() + 2;
  const sessions_valid_from_before = stored.sessions_valid_from ?? 0;
  await replaceLogout(loginAppId, stored, { sessions_valid_from, sessions_valid_from_before });
  return sessions_valid_from;
}

/**
 * Takes the latest logout back: the sessions that it alone ended go on.
 * @returns from when sessions are valid now, in epoch seconds, 0 for no limit
 * @throws ServiceError as `endAllSessions` does, and when there is no logout to undo
 */
export async function undoLogout(loginAppId: string): Promise<number> {
  const stored = await requireStored(loginAppId);
  const { sessions_valid_from_before: before } = stored;
  if (before === undefined) throw invalid('The Login App has no logout that can be undone.');
  await replaceLogout(loginAppId, stored, {
    sessions_valid_from: before,
    sessions_valid_from_before: undefined,
  });
  return before;
}

async function requireStored(loginAppId: string): Promise<Stored> {
  const stored = await readStored(loginAppId);
  if (!stored) throw new ServiceError('not_found', 'There is no such Login App.');
  return stored;
}

/** Replaces the latest logout, if there was no other since. Two of one second differ in what was before. */
async function replaceLogout(loginAppId: string, before: Stored, set: Stored): Promise<void> {
  const { done } = await updateItem(statusItem(loginAppId), {
    set,
    when: {
      pk: { exists: true },
      sessions_valid_from: { is: before.sessions_valid_from },
      sessions_valid_from_before: { is: before.sessions_valid_from_before },
    },
  });
  if (!done)
    throw invalid(
      'Somebody else logged the Login App out meanwhile; nothing was changed. Run the command again.',
    );
}
