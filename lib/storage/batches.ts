import { setTimeout as wait } from 'node:timers/promises';
import { othersWrite } from './conflicts.ts';

/** The size of a batch. */
const atOnce = 25;

/**
 * Acts on members in batches while there is time.
 * @returns whether there was enough
 */
export async function forEachInBatches<Member>(
  members: readonly Member[],
  act: (member: Member) => Promise<unknown>,
  hasTime = () => true,
): Promise<boolean> {
  for (let start = 0; start < members.length; start += atOnce) {
    if (!hasTime()) return false;
    await Promise.all(members.slice(start, start + atOnce).map((member) => act(member)));
  }
  return true;
}

/** Acts on the members of lists, page by page, as `forEachInBatches` does. */
export async function forEachOfLists<Member>(
  lists: AsyncIterable<Member[]>[],
  act: (member: Member) => Promise<unknown>,
  hasTime: () => boolean,
): Promise<boolean> {
  for (const pages of lists)
    for await (const page of pages)
      if (!hasTime() || !(await forEachInBatches(page, act, hasTime))) return false;
  return true;
}

/** Tells whether there is time for another piece of work. Functions of endpoints have 10 s. */
export function timeLimit(milliseconds = 5_000): () => boolean {
  const endsAt = performance.now() + milliseconds;
  return () => performance.now() < endsAt;
}

/** The most attempts of a conditional write. With the pauses, they take about 3 s. */
const mostAttempts = 30;
/** Attempts without a pause: a login takes two or three, though nobody else writes. */
const promptAttempts = 3;
/** The most milliseconds of the first pause; doubled for each further one. */
const firstPause = 25;
const longestPause = 200;

/**
 * Repeats a conditional write. After the first attempts, it waits at random before each further
 * one: of many who write at once, ever fewer meet.
 * @param attempt gives undefined if somebody was faster
 * @param busy what others do, for the error
 * @throws ServiceError `temporarily_unavailable` in the end
 */
export async function retryOnConflict<Result>(
  attempt: () => Promise<Result | undefined>,
  busy: string,
) {
  for (let made = 1; ; made += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
    if (made === mostAttempts) throw othersWrite(busy);
    if (made < promptAttempts) continue;
    const mostPause = Math.min(firstPause * 2 ** (made - promptAttempts), longestPause);
    await wait(Math.random() * mostPause);
  }
}
