/** The most members that are under way side by side. */
const atOnce = 25;

/** Does the same with each member, some at a time. */
export async function forEachInBatches<Member>(
  members: readonly Member[],
  act: (member: Member) => Promise<unknown>,
) {
  for (let start = 0; start < members.length; start += atOnce) {
    await Promise.all(members.slice(start, start + atOnce).map(act));
  }
}

/**
 * A check whether there is time to begin another piece of work in this call.
 * @param milliseconds after which work that can be continued stops. A function of an endpoint has 10 s
 */
export function timeLimit(milliseconds = 5_000): () => boolean {
  const endsAt = performance.now() + milliseconds;
  return () => performance.now() < endsAt;
}
