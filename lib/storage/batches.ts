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

/** Milliseconds after which work that can be continued stops. A function has 10 s. */
const milliseconds = 5_000;

/** A check whether there is time to begin another piece of work in this call. */
export function timeLimit(): () => boolean {
  const endsAt = performance.now() + milliseconds;
  return () => performance.now() < endsAt;
}
