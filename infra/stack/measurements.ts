import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import type { LogReason } from '../../lib/foundation/reasons.ts';
import type { LogEvent } from '../../lib/log/events.ts';
import type { metrics } from '../../lib/log/metrics.ts';
import { table } from '../../lib/storage/table.ts';
import type { TableInUse } from './service-data.ts';

type OwnMetric = (typeof metrics)[number]['name'];

/** The metrics of the access log's 5xx and 429, by route. */
export const routeServerErrors = 'RouteServerErrors';
export const routeThrottles = 'RouteThrottles';

export const minute = Duration.minutes(1);

export type Measurements = ReturnType<typeof measurementsOf>;

/** Metrics that alarms and dashboard show, per minute unless said otherwise. */
export function measurementsOf(namespace: string, api: HttpApi, inUse: TableInUse) {
  const { SUM: statistic } = Stats;
  const ofApi = (metricName: string, statistic: string): Metric =>
    api.metric(metricName, { statistic, period: minute });
  const ofTable = (metricName: string, GlobalSecondaryIndexName?: string): Metric => {
    const dimensionsMap = definedOnly({ TableName: inUse.tableName, GlobalSecondaryIndexName });
    return inUse.metric(metricName, { dimensionsMap, statistic, period: minute });
  };
  /** A metric of the service's own, over all values of its fields. */
  const total = (metricName: OwnMetric, statistic: string = Stats.SUM): Metric =>
    new Metric({ namespace, metricName, statistic, period: minute });
  return {
    total,
    requests: ofApi('Count', statistic),
    clientErrors: ofApi('4xx', statistic),
    serverErrors: ofApi('5xx', statistic),
    latency: (statistic: string): Metric => ofApi('Latency', statistic),
    /** A metric of all functions of the account in this region, which share one limit: one function can use it up for all. */
    ofFunctions: (metricName: 'Throttles' | 'Invocations'): Metric =>
      new Metric({ namespace: 'AWS/Lambda', metricName, statistic, period: minute }),
    /** Throttled requests of the table and of its global indexes, which are throttled by themselves. */
    tableThrottles: sum(
      'Table throttles',
      Object.fromEntries(
        [undefined, ...Object.keys(table.globalIndexes)].flatMap((index) => {
          const suffix = index === undefined ? '' : `_${index}`;
          return [
            [`reads${suffix}`, ofTable('ReadThrottleEvents', index)],
            [`writes${suffix}`, ofTable('WriteThrottleEvents', index)],
          ];
        }),
      ),
    ),
    consumedReads: ofTable('ConsumedReadCapacityUnits'),
    consumedWrites: ofTable('ConsumedWriteCapacityUnits'),
    /** A metric of the service's own, for one reason. */
    because: (metricName: OwnMetric, reason: LogReason): Metric =>
      total(metricName).with({ dimensionsMap: { reason } }),
    /** The 5xx that a function has answered, in all its versions or in one, for any cause or one event alone. */
    serverErrorsOf: (
      dimensionsMap: { function: string; version?: string; event?: LogEvent },
      period = minute,
    ) => total('ServerErrors').with({ dimensionsMap, period }),
    /** A metric from the log with a line for each value of a field, or of several together. */
    by: (metricName: OwnMetric, fields: string | string[], statistic: string = Stats.SUM): IMetric =>
      new MathExpression({
        expression: `SEARCH('{"${[namespace, fields].flat().join('","')}"} MetricName="${metricName}"', '${statistic}', 60)`,
        usingMetrics: {},
        label: '',
        period: minute,
      }),
    /** A metric of the access log, for one route. Without such requests there is no metric, which costs nothing. */
    ofRoute: (metricName: string, route: string, period: Duration): Metric =>
      new Metric({ namespace, metricName, dimensionsMap: { route }, statistic, period }),
  };
}

/** The sum of metrics of which some may be missing. */
export const sum = (label: string, usingMetrics: Record<string, IMetric>): MathExpression => {
  const filled = Object.keys(usingMetrics).map((name) => `FILL(${name}, 0)`);
  return new MathExpression({ expression: filled.join(' + '), usingMetrics, label, period: minute });
};

/**
 * The share that a part is of a whole, in per cent. The whole may be missing, or less than the part, since another service may
 * count it.
 * @param fewest the least part that says anything; with less, the share is 0
 */
export const rate = (label: string, part: IMetric, whole: IMetric, fewest: number, period = minute) =>
  new MathExpression({
    expression: `IF(part >= ${fewest}, 100 * part / MAX([part, FILL(whole, 0)]), 0)`,
    usingMetrics: { part, whole },
    label: `${label}, per cent`,
    period,
  });
