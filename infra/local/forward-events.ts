import { setTimeout as wait } from 'node:timers/promises';
import type { Envelope } from './aws.ts';

interface ForwardOptions {
  /** Takes lines about events that the consumer does not take. */
  say: (line: string) => void;
  /** Milliseconds that the consumer has for an answer. @default 5000, as an API destination of EventBridge has */
  patience?: number;
}

/** Milliseconds between an attempt that failed and the next one. */
const pause = 1_000;

/**
 * Sends events to a consumer by POST, one at a time. One that the consumer does not answer with a 2xx goes to the end of the
 * line, and is sent until it does: at least once, as by EventBridge.
 */
export function forwardEvents(url: string, { say, patience = 5_000 }: ForwardOptions) {
  const line: { event: Envelope; attempts: number }[] = [];
  const stopping = new AbortController();
  let isSending = false;

  const sendAll = async (): Promise<void> => {
    for (let parcel = line[0]; parcel && !stopping.signal.aborted; parcel = line[0]) {
      const problem = await send(
        url,
        parcel.event,
        AbortSignal.any([AbortSignal.timeout(patience), stopping.signal]),
      );
      if (stopping.signal.aborted && problem) return;
      parcel.attempts += 1;
      line.shift();
      const { event, attempts } = parcel;
      if (problem === undefined) {
        if (attempts > 1) say(`${url} took the event ${event.id} at attempt ${attempts}.`);
        continue;
      }
      line.push(parcel);
      if (attempts === 1)
        say(`${url} did not take the event ${event.id} (${problem}). It is sent again until it does.`);
      await wait(pause, undefined, { signal: stopping.signal }).catch(() => {});
    }
    isSending = false;
  };
  return {
    forward: (event: Envelope): void => {
      line.push({ event, attempts: 0 });
      if (isSending) return;
      isSending = true;
      void sendAll();
    },
    close: (): void => {
      stopping.abort();
      if (line.length > 0) say(`${url} never took ${line.length} of the events; they are lost.`);
    },
  };
}

/** Sends an event once. Why it was not taken; undefined when it was. */
async function send(url: string, event: Envelope, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { ok, status, body } = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(event),
      // Elsewhere may be another machine.
      redirect: 'manual',
      signal,
    });
    await body?.cancel();
    return ok ? undefined : `it answered with ${status}`;
  } catch (error) {
    if (signal.reason?.name === 'TimeoutError') return 'it did not answer in time';
    const cause = error instanceof Error ? error.cause : undefined;
    if (!(cause instanceof Error)) return String(error);
    return 'code' in cause ? String(cause.code) : cause.message;
  }
}
