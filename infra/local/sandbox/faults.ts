import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setInterval, setTimeout } from 'node:timers/promises';
import * as v from 'valibot';
import { endpointNames } from './sandbox-provider.ts';

const faultSchema = v.strictObject({
  /** @default 200 */
  status: v.optional(v.pipe(v.number(), v.integer(), v.minValue(200), v.maxValue(599))),
  headers: v.optional(v.record(v.string(), v.string())),
  body: v.optional(v.string()),
  /** Alone it lets the real answer through, late. */
  delay_ms: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
  /** One byte every 200 ms, without an end. */
  drip: v.optional(v.literal(true)),
  repeat_body_bytes: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))),
});

/** What an endpoint does instead of its job; null ends it. */
export const faultRequest = v.strictObject({
  endpoint: v.picklist(endpointNames),
  fault: v.nullable(faultSchema),
});

export type Fault = v.InferOutput<typeof faultSchema>;

/**
 * Acts the fault out. Returns true when the real answer should follow.
 * Rejects when the caller hangs up before the end.
 */
export async function sendFault(response: ServerResponse, fault: Fault): Promise<boolean> {
  const { delay_ms: delay, ...answer } = fault;
  const hungUp = new AbortController();
  response.once('close', () => hungUp.abort());

  if (delay !== undefined) await setTimeout(delay, undefined, { signal: hungUp.signal });
  if (Object.keys(answer).length === 0) return true;

  response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
  response.flushHeaders();
  await pipeline(Readable.from(bodyOf(answer, hungUp.signal)), response);
  return false;
}

function bodyOf(answer: Fault, hungUp: AbortSignal): Iterable<string> | AsyncIterable<string> {
  // A space is what JSON allows before any value, so that a parser goes on reading.
  if (answer.drip) return setInterval(200, ' ', { signal: hungUp });
  if (answer.repeat_body_bytes !== undefined) return bytes(answer.repeat_body_bytes);
  return [answer.body ?? ''];
}

function* bytes(count: number): Generator<string> {
  const chunk = ' '.repeat(16_384);
  for (let left = count; left > 0; left -= chunk.length) yield chunk.slice(0, left);
}
