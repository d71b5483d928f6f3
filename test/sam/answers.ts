import * as v from 'valibot';
import type { Answer } from '../support/service.ts';

/** An answer without what differs each time. */
export interface ComparableAnswer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

const functionResult = v.object({
  statusCode: v.number(),
  headers: v.record(v.string(), v.string()),
  body: v.optional(v.string(), ''),
});

/** What a handler has returned to API Gateway. */
export function answerOfFunction(result: unknown): ComparableAnswer {
  const { statusCode, headers, body } = v.parse(functionResult, result);
  return comparable(statusCode, Object.entries(headers), body === '' ? undefined : JSON.parse(body));
}

/** What came over HTTP. */
export const answerOverHttp = ({ status, headers, body }: Answer): ComparableAnswer =>
  comparable(status, [...headers], body);

/** Headers of the connection, and the one that differs each time. */
const left = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
  'x-request-id',
]);

const comparable = (status: number, headers: [string, string][], body: unknown): ComparableAnswer => ({
  status,
  headers: Object.fromEntries(
    headers.map(([name, value]) => [name.toLowerCase(), value]).filter(([name = '']) => !left.has(name)),
  ),
  body: withoutRandomness(body),
});

/** Ids, secrets and tokens: a prefix and what is random, or a JWT. */
const random = /^(?:[a-z]{1,4}[_.][\w.-]{16,}|ey[\w-]+\.ey[\w-]+\.[\w-]+)$/;

/** Fields whose number is the next one that is free. */
const counted = new Set(['id', 'access_request_id']);
/** Fields whose number is a time, in epoch seconds. */
const times = new Set(['iat', 'exp']);
const moment = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/;

/** A value of JSON in which every id, secret and token is replaced by the first letters of it, and every time. */
export function withoutRandomness(value: unknown): unknown {
  if (typeof value === 'string' && moment.test(value)) return 'a time';
  if (typeof value === 'string') return random.test(value) ? `${value.slice(0, 2)}…` : value;
  if (Array.isArray(value)) return value.map(withoutRandomness);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      typeof one === 'number' ? withoutChance(name, one) : withoutRandomness(one),
    ]),
  );
}

const withoutChance = (name: string, value: number): number | string =>
  counted.has(name) ? 'a number' : times.has(name) ? 'a time' : value;
