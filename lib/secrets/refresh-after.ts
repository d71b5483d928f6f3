import { clock } from '../foundation/clock.ts';
import { logFailure } from '../log/log.ts';

interface Reread<Value> {
  /** The id of the secret that the value is made of. */
  secretId: () => string;
  /** Milliseconds for which a warm function uses a value that it has read. */
  freshFor: number;
  read: (secretId: string) => Promise<Value>;
  /** Whether a value that can't be read again is still good. */
  isGood?: (value: Value) => Promise<boolean>;
}

/** Milliseconds for which a value is used, from when it was read, while Secrets Manager fails. */
const longestOutage = 6 * 3_600_000;
/** Milliseconds between two attempts to read it then. */
const pause = 60_000;

/** Keeps a value of a secret in a warm function. While the secret can't be read, it stays in use, for six hours at most. */
export function refreshAfter<Value>({ secretId, freshFor, read, isGood = async () => true }: Reread<Value>) {
  let last: { value: Value; readAt: number; readAgainAt: number } | undefined;
  let reading: Promise<Value> | undefined;

  async function readNow(): Promise<Value> {
    const now = clock.now().getTime();
    try {
      const value = await read(secretId());
      last = { value, readAt: now, readAgainAt: now + freshFor };
      return value;
    } catch (error) {
      if (!last || now - last.readAt >= longestOutage || !(await isGood(last.value))) throw error;
      last.readAgainAt = now + pause;
      const age_seconds = Math.floor((now - last.readAt) / 1000);
      logFailure('secret_stale', error, { secret: secretId(), age_seconds });
      return last.value;
    }
  }

  return async (): Promise<Value> => {
    if (last && clock.now().getTime() < last.readAgainAt) return last.value;
    reading ??= readNow().finally(() => {
      reading = undefined;
    });
    return reading;
  };
}
