import * as v from 'valibot';
import { epochSeconds, timestamp } from '../foundation/clock.ts';
import { cached } from '../storage/cache.ts';
import { readItem, updateItem, updateOwnItem } from '../storage/items.ts';
import { loginAppKey } from '../storage/keys.ts';

/** The attributes of a Login App that an operator switches. */
export const statusAttributes = {
  /** While it is set, nobody logs in, and no token of the Login App is accepted. */
  disabled_at: v.optional(v.string()),
  /** Epoch seconds. Sessions that began before have ended. */
  sessions_valid_from: v.optional(v.number()),
  /** `sessions_valid_from` as it was before the latest logout, 0 for none. Absent when there is no logout to undo. */
  sessions_valid_from_before: v.optional(v.number()),
};
const switchesItem = v.object(statusAttributes);

/** Switches that hold for every client, session and token of a Login App. */
export interface LoginAppSwitches {
  isEnabled: boolean;
  /** Epoch seconds. Sessions that began before have ended. */
  sessionsValidFrom: number;
}

const readStored = async (loginAppId: string) => {
  const item = await readItem(loginAppKey(loginAppId));
  return item && v.parse(switchesItem, item);
};
type Stored = Awaited<ReturnType<typeof readStored>>;

const switchesOf = (stored: Stored): LoginAppSwitches => ({
  isEnabled: stored !== undefined && stored.disabled_at === undefined,
  sessionsValidFrom: stored?.sessions_valid_from ?? 0,
});

const findStored = cached(readStored, (id) => id);

/**
 * The switches of a Login App, up to 30 s old, whether they grant or deny: a disabled Login App costs no more reads than
 * another. Ask only for the Login App of an authenticated client or of a token of ours, so that nobody can make up ids.
 */
export const findStatus = async (loginAppId: string): Promise<LoginAppSwitches> =>
  switchesOf(await findStored(loginAppId, () => true));

/** The switches of a Login App as they are stored now. */
export const readSwitches = async (loginAppId: string): Promise<LoginAppSwitches> =>
  switchesOf(await readStored(loginAppId));

/** Disables or enables a Login App. False when there is none. */
export const setLoginAppDisabled = (loginAppId: string, disabled: boolean): Promise<boolean> =>
  updateOwnItem<NonNullable<Stored>>(loginAppKey(loginAppId), {
    ...(disabled ? { setIfAbsent: { disabled_at: timestamp() } } : { remove: ['disabled_at'] }),
    when: { pk: { exists: true } },
  });

/** Seconds by which the clock of an instance may be fast when it stamps a session. */
const clockTolerance = 1;

/**
 * Ends every session of a Login App that began before now, with one write. Sessions know the second in which they began,
 * and the clocks of instances differ a little, so those that begin within the next two seconds end as well.
 * @returns from when sessions are valid, in epoch seconds; or why nothing was changed: there is no such Login App, or
 *   somebody else changed it meanwhile
 */
export async function endAllSessions(loginAppId: string): Promise<number | 'unknown' | 'changed'> {
  const stored = await readStored(loginAppId);
  if (!stored) return 'unknown';
  const sessions_valid_from = epochSeconds() + 1 + clockTolerance;
  const { done } = await updateItem<NonNullable<Stored>>(loginAppKey(loginAppId), {
    set: { sessions_valid_from, sessions_valid_from_before: stored.sessions_valid_from ?? 0 },
    when: unchanged(stored),
  });
  return done ? sessions_valid_from : 'changed';
}

/**
 * Takes the latest logout back: sessions that it ended go on, unless they have expired or were ended otherwise. Those
 * that an earlier logout ended stay ended.
 * @returns from when sessions are valid now, in epoch seconds, 0 for no limit; or why nothing was changed
 */
export async function undoLogout(loginAppId: string): Promise<number | 'unknown' | 'changed' | 'none'> {
  const stored = await readStored(loginAppId);
  if (!stored) return 'unknown';
  const { sessions_valid_from_before: before } = stored;
  if (before === undefined) return 'none';
  const { done } = await updateItem<NonNullable<Stored>>(loginAppKey(loginAppId), {
    set: { sessions_valid_from: before },
    remove: ['sessions_valid_from_before'],
    when: unchanged(stored),
  });
  return done ? before : 'changed';
}

/** The condition that nobody has logged the Login App out or undone a logout since. Two logouts of one second differ in what was before. */
const unchanged = ({ sessions_valid_from, sessions_valid_from_before }: NonNullable<Stored>) => ({
  pk: { exists: true },
  sessions_valid_from: still(sessions_valid_from),
  sessions_valid_from_before: still(sessions_valid_from_before),
});

const still = (is: number | undefined) => (is === undefined ? { exists: false } : { is });
