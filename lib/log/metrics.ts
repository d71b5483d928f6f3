import { clock } from '../foundation/clock.ts';
import { optionalEnvironment } from '../foundation/environment.ts';
import type { ErrorCode } from '../foundation/service-error.ts';
import type { LogEvent } from './events.ts';

interface Metric {
  name: string;
  /** The events that it counts. */
  of: readonly LogEvent[];
  /**
   * Only the lines with these fields.
   * @default all
   */
  with?: { error: ErrorCode } | { client_kind: 'public' };
  /** Not the lines with this field. */
  without?: { error: ErrorCode };
  /**
   * The field with its value in milliseconds.
   * @default each line counts 1
   */
  value?: string;
  /** Dimensions, each one field or several. Each value costs money, so they have few. */
  by: readonly (string | readonly string[])[];
}

/** By function, by version, and by version and cause. */
const versions = ['function', ['function', 'version'], ['function', 'version', 'event']] as const;

export const metrics = [
  { name: 'TokensIssued', of: ['token_issued'], by: ['grant_type', 'provider'] },
  { name: 'TokensRefused', of: ['token_refused'], by: ['error', 'reason', 'provider'] },
  {
    name: 'PublicClientsRefused',
    of: ['token_refused'],
    with: { client_kind: 'public' },
    // Every phone meets it that has not refreshed for a while, and goes on with the nonce.
    without: { error: 'use_dpop_nonce' },
    by: [],
  },
  { name: 'RequestsRefused', of: ['request_refused'], by: ['reason'] },
  { name: 'RefreshTokensRepeated', of: ['refresh_token_repeated'], by: [] },
  { name: 'RefreshTokensReplayed', of: ['refresh_token_replayed'], by: [] },
  { name: 'RefreshTokensReused', of: ['refresh_token_reused'], by: [] },
  { name: 'ProviderLatency', of: ['provider_called'], value: 'milliseconds', by: ['provider'] },
  { name: 'ProviderTokensIssued', of: ['provider_token_issued'], by: ['provider'] },
  { name: 'StaleSecrets', of: ['secret_stale'], by: [] },
  // As many as there are 5xx because of a provider, so that alarms can subtract them.
  {
    name: 'ProviderFailures',
    of: ['provider_failed', 'provider_token_not_refreshed'],
    by: ['provider'],
  },
  { name: 'ProvidersWithoutVerdict', of: ['provider_gave_no_verdict'], by: ['provider'] },
  { name: 'ProviderStreamsUpdated', of: ['provider_stream_updated'], by: [] },
  { name: 'LoginHookLatency', of: ['login_hook_called'], value: 'milliseconds', by: [] },
  { name: 'LoginHookFailures', of: ['login_hook_failed'], by: [] },
  { name: 'ServerErrors', of: ['request_failed', 'provider_failed'], by: versions },
  {
    name: 'ServerErrors',
    of: ['token_refused', 'request_refused'],
    with: { error: 'temporarily_unavailable' },
    by: versions,
  },
  { name: 'DevicesRegistered', of: ['device_registered'], by: ['outcome'] },
  { name: 'Searches', of: ['events_searched'], by: [] },
] as const satisfies readonly Metric[];

const all: readonly Metric[] = metrics;

/** A line of the log, with fields that a metric may count by. */
type Line = Record<string, unknown>;

/** Whether a metric counts the line of an event. */
function counts(metric: Metric, event: LogEvent, line: Line): boolean {
  const { of: events, with: needed, without: excluded } = metric;
  if (!events.includes(event)) return false;
  if (needed !== undefined && !hasFields(line, needed)) return false;
  if (excluded !== undefined && hasFields(line, excluded)) return false;
  return true;
}

const hasFields = (line: Line, fields: object): boolean =>
  Object.entries(fields).every(([field, value]) => line[field] === value);

/**
 * Fields that make CloudWatch read a log line as metrics too; none without a namespace. Powertools
 * would write a second line, which costs money.
 * @see Amazon CloudWatch user guide, "Specification: Embedded metric format"
 */
export function asMetrics(event: LogEvent, line: Line): Line {
  const namespace = optionalEnvironment('METRICS_NAMESPACE');
  const counted = all.filter((metric) => counts(metric, event, line));
  if (counted.length === 0 || !namespace) return {};

  const fields: Line = {
    ...line,
    function: optionalEnvironment('AWS_LAMBDA_FUNCTION_NAME'),
    version: optionalEnvironment('AWS_LAMBDA_FUNCTION_VERSION'),
  };
  const directives = counted.map((metric) => ({
    Namespace: namespace,
    Dimensions: dimensionsOf(metric, fields),
    Metrics: [{ Name: metric.name, Unit: metric.value ? 'Milliseconds' : 'Count' }],
  }));

  // CloudWatch takes the values of dimensions and metrics from fields of the line.
  const dimensionNames = new Set(directives.flatMap(({ Dimensions }) => Dimensions.flat()));
  const dimensionValues = [...dimensionNames].map((name) => [name, fields[name]]);
  const metricValues = counted.map(({ name, value }) => [name, value ? line[value] : 1]);
  return {
    ...Object.fromEntries(dimensionValues),
    ...Object.fromEntries(metricValues),
    _aws: { Timestamp: clock.now().getTime(), CloudWatchMetrics: directives },
  };
}

/** The sets of dimensions by which a line counts: those whose fields the line has. */
function dimensionsOf({ by }: Metric, fields: Line): string[][] {
  const sets = by.map((names) => [names].flat());
  const known = sets.filter((names) => names.every((name) => fields[name] !== undefined));
  // The empty one counts all lines together.
  return [[], ...known];
}
