import { AsyncLocalStorage } from 'node:async_hooks';
import { Logger } from '@aws-lambda-powertools/logger';
import type { LogEvent, LogFields } from './log-events.ts';
import { asMetric } from './metrics.ts';

/** Structured lines on standard output. Nothing that is secret, and nothing a caller sent, goes in. */
const logger = new Logger({ serviceName: 'login-service' });

const requestFields = new AsyncLocalStorage<LogFields>();

/** Runs what serves one request; all its log lines carry these fields. */
export const withLogFields = <Result>(fields: LogFields, run: () => Result): Result =>
  requestFields.run({ ...fields }, run);

/** Adds fields to all further log lines of this request. */
export function note(fields: LogFields): void {
  Object.assign(requestFields.getStore() ?? {}, fields);
}

/** Writes one line. What each event means, and which fields it has, is said in `log-events.ts`. */
export function logEvent(event: LogEvent, fields: LogFields = {}): void {
  logger.info(event, lineOf(event, fields));
}

/** Writes down an error that nobody expected. */
export function logFailure(event: LogEvent, error: unknown, fields: LogFields = {}): void {
  logger.error(event, lineOf(event, { ...fields, failure: describeError(error) }));
}

function lineOf(event: LogEvent, fields: LogFields): LogFields {
  const line = { event, ...requestFields.getStore(), ...fields };
  return { ...line, ...asMetric(event, line) };
}

/**
 * What may be logged of an unexpected error: its name, its code and where it was thrown. The messages of
 * the language's own errors quote the value they failed on, so only the service's own and the SDK's go in.
 */
function describeError(error: unknown): LogFields {
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, stack, cause } = error;
  const isBuiltIn = [
    'SyntaxError',
    'TypeError',
    'RangeError',
    'URIError',
    'ReferenceError',
    'ValiError',
  ].includes(name);
  const frames = stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return {
    name,
    ...('code' in error && { code: error.code }),
    ...(isBuiltIn ? {} : { message: error.message }),
    at: frames.slice(0, 8).map((line) => line.trim()),
    ...(cause instanceof Error && { cause: describeError(cause) }),
  };
}
