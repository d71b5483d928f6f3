import { clock } from '../clock.ts';

/** Reads a value and keeps it in a warm function for a time, in milliseconds. A read that fails is not kept. */
export function rereadAfter<Value>(milliseconds: number, read: () => Promise<Value>): () => Promise<Value> {
  let last: { value: Promise<Value>; readAt: number } | undefined;
  return async () => {
    const now = clock.now().getTime();
    if (!last || now - last.readAt >= milliseconds) last = { value: read(), readAt: now };
    const used = last;
    try {
      return await used.value;
    } catch (error) {
      if (last === used) last = undefined;
      throw error;
    }
  };
}
