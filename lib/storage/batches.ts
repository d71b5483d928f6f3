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

/**
 * Attempts of a conditional write. Of as many at once, each succeeds: one fails only because
 * another did not.
 */
const mostAttempts = 30;

/**
 * Repeats a conditional write.
 * @param attempt gives undefined if somebody was faster
 * @throws Error `busy` after thirty attempts
 */
export async function retryOnConflict<Result>(
  attempt: () => Promise<Result | undefined>,
  busy: string,
) {
  for (let attempts = 0; attempts < mostAttempts; attempts += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Error(busy);
}
