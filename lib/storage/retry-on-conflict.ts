/**
 * Repeats an attempt that reads items and writes them on the condition that nobody has changed them since.
 * @param attempt returns undefined when somebody else was faster
 * @throws Error `busy` after ten attempts
 */
export async function retryOnConflict<Result>(
  attempt: () => Promise<Result | undefined>,
  busy: string,
): Promise<Result> {
  for (let attempts = 0; attempts < 10; attempts += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Error(busy);
}
