/** How many members are under way side by side. */
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

/** Tells whether there is time to begin another piece of work that can be continued. A function of an endpoint has 10 s. */
export function timeLimit(milliseconds = 5_000): () => boolean {
  const endsAt = performance.now() + milliseconds;
  return () => performance.now() < endsAt;
}
