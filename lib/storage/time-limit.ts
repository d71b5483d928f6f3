/** Milliseconds after which work that can be continued stops. A function has 10 s. */
const milliseconds = 5_000;

/** A check whether there is time to begin another piece of work in this call. */
export function timeLimit(): () => boolean {
  const endsAt = performance.now() + milliseconds;
  return () => performance.now() < endsAt;
}
