import { clock } from '../foundation/clock.ts';
import { optionalEnvironment } from '../foundation/environment.ts';
import type { LogEvent } from './events.ts';

interface Metric {
  name: string;
  /** The field that is its value; without one each line counts 1. In milliseconds. */
  value?: string;
  /** Dimensions of the metric, each on its own. They have few values each, since every value is a metric that costs money. */
  by: readonly string[];
}

/** The lines that are also a metric. */
export const metrics = {
  token_issued: { name: 'TokensIssued', by: ['grant_type', 'provider'] },
  token_refused: { name: 'TokensRefused', by: ['error', 'reason', 'provider'] },
  request_refused: { name: 'RequestsRefused', by: ['error', 'reason'] },
  refresh_token_repeated: { name: 'RefreshTokensRepeated', by: [] },
  refresh_token_replayed: { name: 'RefreshTokensReplayed', by: [] },
  refresh_token_reused: { name: 'RefreshTokensReused', by: [] },
  provider_called: { name: 'ProviderLatency', value: 'milliseconds', by: ['provider'] },
  secret_stale: { name: 'StaleSecrets', by: [] },
  provider_failed: { name: 'ProviderFailures', by: ['provider'] },
  device_registered: { name: 'DevicesRegistered', by: ['outcome', 'platform'] },
  events_searched: { name: 'Searches', by: [] },
} as const satisfies Partial<Record<LogEvent, Metric>>;

const metricOf = new Map<string, Metric>(Object.entries(metrics));

/**
 * Fields that make CloudWatch read a log line as a metric too. The Powertools library would write a second line, to be
 * paid for again, and take 11 kB and 2 ms of every cold start. Nothing without a namespace, which a deployment
 * sets to the name of its stack.
 * @see Amazon CloudWatch user guide, "Specification: Embedded metric format"
 */
export function asMetric(event: LogEvent, line: Record<string, unknown>): Record<string, unknown> {
  const metric = metricOf.get(event);
  const Namespace = optionalEnvironment('METRICS_NAMESPACE');
  if (!metric || !Namespace) return {};
  const { name, value, by } = metric;
  return {
    [name]: value ? line[value] : 1,
    _aws: {
      Timestamp: clock.now().getTime(),
      CloudWatchMetrics: [
        {
          Namespace,
          Dimensions: [[], ...by.filter((field) => line[field] !== undefined).map((field) => [field])],
          Metrics: [{ Name: name, Unit: value ? 'Milliseconds' : 'Count' }],
        },
      ],
    },
  };
}
