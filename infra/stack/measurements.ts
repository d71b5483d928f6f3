import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, MathExpression, Metric, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import type { LogReason } from '../../lib/foundation/reasons.ts';
import type { LogEvent } from '../../lib/log/events.ts';
import type { metrics } from '../../lib/log/metrics.ts';
import { table } from '../../lib/storage/table.ts';
import type { TableInUse } from './resources-in-use.ts';

type OwnMetric = (typeof metrics)[number]['name'];

/** The metrics of the access log's 5xx and 429, by route. */
export type RouteMetric = 'RouteServerErrors' | 'RouteThrottles';

export const minute = Duration.minutes(1);

export type Measurements = ReturnType<typeof measurementsOf>;

/** Metrics of alarms and the dashboard, per minute by default. */
export function measurementsOf(namespace: string, api: HttpApi, inUse: TableInUse) {
  const { SUM: statistic } = Stats;
  const ofApi = (name: string, statistic: string) =>
    api.metric(name, { statistic, period: minute });
  const ofTable = (metricName: string, GlobalSecondaryIndexName?: string): Metric => {
    const dimensionsMap = definedOnly({ TableName: inUse.tableName, GlobalSecondaryIndexName });
    return inUse.metric(metricName, { dimensionsMap, statistic, period: minute });
  };
  /** A metric of the service's own, whatever its fields. */
  const total = (metricName: OwnMetric, statistic: string = Stats.SUM): Metric =>
    new Metric({ namespace, metricName, statistic, period: minute });
  return {
    total,
    requests: ofApi('Count', statistic),
    clientErrors: ofApi('4xx', statistic),
    serverErrors: ofApi('5xx', statistic),
    latency: (statistic: string): Metric => ofApi('Latency', statistic),
    /** A metric of all functions of the account in this region, which share one limit. */
    ofFunctions: (metricName: 'Throttles' | 'Invocations'): Metric =>
      new Metric({ namespace: 'AWS/Lambda', metricName, statistic, period: minute }),
    /** Throttled requests of the table and, separately throttled, its global indexes. */
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
    because: (name: OwnMetric, reason: LogReason) =>
      total(name).with({ dimensionsMap: { reason } }),
    /** The 5xx of a function, in all its versions or in one, for any cause or one event alone. */
    serverErrorsOf: (
      about: { function: string; version?: string; event?: LogEvent },
      period = minute,
    ) => total('ServerErrors').with({ dimensionsMap: about, period }),
    /**
     * A metric of the service's own, with a line for each value of a field, or of several together.
     */
    by: (
      metricName: OwnMetric,
      fields: string | string[],
      statistic: string = Stats.SUM,
    ): IMetric => {
      const dimensions = [namespace, fields].flat().join('","');
      return formula(
        '',
        `SEARCH('{"${dimensions}"} MetricName="${metricName}"', '${statistic}', 60)`,
        {},
      );
    },
    /**
     * A metric of the access log for one route. It exists, and costs, once there has been such a
     * request.
     */
    ofRoute: (metricName: RouteMetric, route: string, period: Duration): Metric =>
      new Metric({ namespace, metricName, dimensionsMap: { route }, statistic, period }),
  };
}

/** A metric that CloudWatch calculates from others, by their names in the expression. */
export const formula = (
  label: string,
  expression: string,
  of: Record<string, IMetric>,
  period = minute,
) => new MathExpression({ label, expression, usingMetrics: of, period });

/** The sum of metrics, some of which may be missing. */
export const sum = (label: string, metrics: Record<string, IMetric>): MathExpression => {
  const filled = Object.keys(metrics).map((name) => `FILL(${name}, 0)`);
  return formula(label, filled.join(' + '), metrics);
};

/**
 * A part of a whole, in per cent: 0 if it is below `fewest`. The whole may be missing, or less, if
 * another service counts it.
 */
export const rate = (
  label: string,
  part: IMetric,
  whole: IMetric,
  fewest: number,
  period = minute,
) =>
  formula(
    `${label}, per cent`,
    `IF(part >= ${fewest}, 100 * part / MAX([part, FILL(whole, 0)]), 0)`,
    { part, whole },
    period,
  );
