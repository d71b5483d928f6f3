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
  const stopping = new AbortController();
  let waiting = 0;
  let last = Promise.resolve();
  const enqueue = (event: Envelope, attempt: number): void => {
    last = last.then(() => (stopping.signal.aborted ? undefined : attemptTo(event, attempt)));
  };
  const attemptTo = async (event: Envelope, attempt: number): Promise<void> => {
    const signal = AbortSignal.any([AbortSignal.timeout(patience), stopping.signal]);
    const problem = await send(url, event, signal);
    if (problem === undefined) {
      waiting -= 1;
      if (attempt > 1) say(`${url} took the event ${event.id} at attempt ${attempt}.`);
    } else if (!stopping.signal.aborted) {
      if (attempt === 1)
        say(`${url} did not take the event ${event.id} (${problem}). It is sent again until it does.`);
      enqueue(event, attempt + 1);
      await wait(pause, undefined, { signal: stopping.signal }).catch(() => {});
    }
  };
  return {
    forward: (event: Envelope): void => {
      waiting += 1;
      enqueue(event, 1);
    },
    close: (): void => {
      stopping.abort();
      if (waiting > 0) say(`${url} never took ${waiting} of the events; they are lost.`);
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
