import { clock } from '../foundation/clock.ts';
import { logFailure } from '../log/log.ts';

interface Reread<Value> {
  secretId: () => string;
  /** Milliseconds that a value is used. */
  freshFor: number;
  read: (secretId: string) => Promise<Value>;
  /**
   * Whether a value may stay in use while Secrets Manager fails.
   * @default yes
   */
  isGood?: (value: Value) => Promise<boolean>;
}

/** Milliseconds that a value is used while Secrets Manager fails, from when it was read. */
const longestOutage = 6 * 3_600_000;
/** Milliseconds between two attempts to read it while Secrets Manager fails. */
const pause = 60_000;

/** Caches what is made of a secret in a warm function. */
export function refreshAfter<Value>({
  secretId,
  freshFor,
  read,
  isGood = async () => true,
}: Reread<Value>) {
  let last: { value: Value; readAt: number; readAgainAt: number } | undefined;
  let reading: Promise<Value> | undefined;

  async function readNow(): Promise<Value> {
    const now = clock.now().getTime();
    try {
      const value = await read(secretId());
      last = { value, readAt: now, readAgainAt: now + freshFor };
      return value;
    } catch (error) {
      if (!last) throw error;
      const age = now - last.readAt;
      const mayBeUsed = age < longestOutage && (await isGood(last.value));
      if (!mayBeUsed) throw error;
      last.readAgainAt = now + pause;
      const age_seconds = Math.floor(age / 1000);
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
