import { timestamp } from '../foundation/clock.ts';
import { optionalEnvironment } from '../foundation/environment.ts';
import type { FailureEvent, LogEvent, LogEvents } from './events.ts';
import { asMetrics } from './metrics.ts';
import { requestFields } from './request-fields.ts';

/** Writes a line, which must have no secrets and nothing that a caller sent. */
export function logEvent<Event extends LogEvent>(event: Event, fields: LogEvents[Event]): void {
  writeLine('INFO', event, fields);
}

/** Writes a line about an unexpected error. */
export function logFailure<Event extends FailureEvent>(
  event: Event,
  error: unknown,
  fields: Omit<LogEvents[Event], 'failure'>,
): void {
  writeLine('ERROR', event, { ...fields, failure: describeError(error) });
}

/** The destination of audit lines; the stack on one's own machine has a file for them. */
export const auditTrail = { write: (line: string): void => void process.stdout.write(line) };

/** Writes an audit line, whatever `LOG_LEVEL` says. */
export function logAudit(fields: LogEvents['audit']): void {
  auditTrail.write(lineOf('INFO', 'audit', fields));
}

function writeLine(level: Level, event: LogEvent, fields: object): void {
  if (level === 'INFO' && optionalEnvironment('LOG_LEVEL') === 'ERROR') return;
  process.stdout.write(lineOf(level, event, fields));
}

type Level = 'INFO' | 'ERROR';

function lineOf(level: Level, event: LogEvent, fields: object): string {
  const line = { event, ...requestFields(), ...fields };
  const start = { level, message: event, timestamp: timestamp(), service: 'login-service' };
  const whole = { ...start, ...line, ...asMetrics(event, line) };
  const json = JSON.stringify(whole);
  // A replacer for every line would double the cost.
  return `${json.length > longestText ? JSON.stringify(whole, cut) : json}\n`;
}

/** The most characters of a text: providers and callers choose some. */
const longestText = 1_000;

const cut = (_name: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > longestText
    ? `${value.slice(0, longestText)}…`
    : value;

/**
 * The parts of an error that may be logged. Messages of the language's own errors may not: they
 * quote the value that failed.
 */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, stack, cause } = error;
  const isBuiltIn = /^(Syntax|Type|Range|URI|Reference|Vali)Error$/.test(name);
  const frames = stack?.split('\n').filter((line) => line.startsWith('    at ')) ?? [];
  return {
    name,
    code: 'code' in error ? error.code : undefined,
    message: isBuiltIn ? undefined : error.message,
    at: frames.slice(0, 8).map((line) => line.trim()),
    cause: cause instanceof Error ? describeError(cause) : undefined,
  };
}
