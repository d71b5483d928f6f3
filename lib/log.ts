import { Logger } from '@aws-lambda-powertools/logger';
import type { FailureEvent, LogEvent, LogEvents } from './log-events.ts';
import { asMetric } from './metrics.ts';
import { requestFields } from './request-fields.ts';

/** Structured lines on standard output. They hold no secrets, and nothing that a caller sent. */
const logger = new Logger({ serviceName: 'login-service' });

/** Writes one line. `log-events.ts` says what each event means and which fields it has. */
export function logEvent<Event extends LogEvent>(event: Event, fields: LogEvents[Event]): void {
  logger.info(event, lineOf(event, fields));
}

/** Writes a line about an unexpected error. */
export function logFailure<Event extends FailureEvent>(
  event: Event,
  error: unknown,
  fields: Omit<LogEvents[Event], 'failure'>,
): void {
  logger.error(event, lineOf(event, { ...fields, failure: describeError(error) }));
}

function lineOf(event: LogEvent, fields: object): Record<string, unknown> {
  const line = { event, ...requestFields(), ...fields };
  return { ...line, ...asMetric(event, line) };
}

/**
 * What may be logged of an unexpected error: its name, its code and where it was thrown. The messages of
 * the language's own errors quote the value they failed on, so only those of the service and the SDK are logged.
 */
function describeError(error: unknown): Record<string, unknown> {
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
