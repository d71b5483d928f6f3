import { setTimeout as wait } from 'node:timers/promises';
import type { Envelope } from './aws.ts';

/** Milliseconds after an attempt that failed. */
const pause = 1_000;

/**
 * Sends events to a consumer, at least once and one at a time.
 * @param answerMilliseconds milliseconds for an answer, as in EventBridge
 */
export function forwardEvents(
  url: string,
  say: (line: string) => void,
  answerMilliseconds = 5_000,
) {
  let waiting = 0;
  let last = Promise.resolve();
  let isOpen = true;
  const enqueue = (event: Envelope, isTold: boolean): void => {
    last = last.then(() => (isOpen ? attempt(event, isTold) : undefined));
  };
  const attempt = async (event: Envelope, isTold: boolean): Promise<void> => {
    const problem = await send(url, event, answerMilliseconds);
    if (problem === undefined) waiting -= 1;
    else if (isOpen) {
      if (!isTold)
        say(
          `${url} did not take the event ${event.id} (${problem}). It is sent again until it does.`,
        );
      enqueue(event, true);
      await wait(pause, undefined, { ref: false });
    }
  };
  return {
    forward: (event: Envelope): void => {
      waiting += 1;
      enqueue(event, false);
    },
    close: (): void => {
      isOpen = false;
      if (waiting > 0) say(`${url} never took ${waiting} of the events; they are lost.`);
    },
  };
}

/**
 * Sends an event once.
 * @returns why it was not taken; undefined if it was
 */
async function send(
  url: string,
  event: Envelope,
  answerMilliseconds: number,
): Promise<string | undefined> {
  try {
    const { ok, status, body } = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(event),
      // Elsewhere may be another machine.
      redirect: 'manual',
      signal: AbortSignal.timeout(answerMilliseconds),
    });
    await body?.cancel();
    return ok ? undefined : `it answered with ${status}`;
  } catch (error) {
    return String(error instanceof Error ? (error.cause ?? error) : error);
  }
}
