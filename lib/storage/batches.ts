/** How many members are under way side by side. */
const atOnce = 25;

/** Does the same with each member, some at a time, while there is time. False when there was not enough. */
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

/** Does the same with each member of some lists, whose pages are read one after the other, as `forEachInBatches` does. */
export async function forEachOfLists<Member>(
  lists: AsyncIterable<Member[]>[],
  act: (member: Member) => Promise<unknown>,
  hasTime: () => boolean,
): Promise<boolean> {
  // A page may be empty, since an index lags behind.
  for (const pages of lists)
    for await (const page of pages)
      if (!hasTime() || !(await forEachInBatches(page, act, hasTime))) return false;
  return true;
}

/** Tells whether there is time to begin another piece of work that can be continued. A function of an endpoint has 10 s. */
export function timeLimit(milliseconds = 5_000): () => boolean {
  const endsAt = performance.now() + milliseconds;
  return () => performance.now() < endsAt;
}

/**
 * Repeats an attempt that reads items and writes them on the condition that nobody has changed them since.
 * @param attempt returns undefined when somebody else was faster
 * @throws Error `busy` after ten attempts
 */
export async function retryOnConflict<Result>(attempt: () => Promise<Result | undefined>, busy: string) {
  for (let attempts = 0; attempts < 10; attempts += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Error(busy);
}
