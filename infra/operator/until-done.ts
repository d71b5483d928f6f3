import * as v from 'valibot';

/** A deletion that is not finished: what this step removed, and how long to wait before the next one. */
const stepSchema = v.looseObject({
  deleted: v.boolean(),
  removed: v.record(v.string(), v.number()),
  again_after_seconds: v.optional(v.number()),
});

/**
 * Calls a command until it is done: one that deletes much does so in steps. Any other command is called once.
 * @param pause waits for a number of seconds before the next step
 * @returns the result of the last step, with what all of them removed
 */
export async function untilDone(
  call: () => Promise<Record<string, unknown>>,
  pause: (seconds: number) => Promise<void>,
): Promise<Record<string, unknown>> {
  const removed: Record<string, number> = {};
  for (;;) {
    const result = await call();
    if (!v.is(stepSchema, result)) return result;
    for (const [name, count] of Object.entries(result.removed)) removed[name] = (removed[name] ?? 0) + count;
    const { again_after_seconds: seconds } = result;
    if (seconds === undefined) return { ...result, removed };
    await pause(seconds);
  }
}
