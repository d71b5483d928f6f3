/** The most attempts of a change while others change the same items. */
const mostAttempts = 10;

/**
 * Repeats an attempt that reads items and writes them on the condition that nobody has changed them since.
 * @param attempt returns undefined when somebody else was faster
 * @param busy the message of the error
 * @throws Error after ten attempts
 */
export async function retryOnConflict<Result>(
  attempt: () => Promise<Result | undefined>,
  busy: string,
): Promise<Result> {
  for (let attempts = 0; attempts < mostAttempts; attempts += 1) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Error(busy);
}
