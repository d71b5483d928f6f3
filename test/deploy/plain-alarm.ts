import * as v from 'valibot';

const metric = v.object({
  MetricStat: v.object({
    Metric: v.looseObject({ MetricName: v.string(), Namespace: v.string() }),
    Period: v.number(),
  }),
});

/** The properties of an alarm that watches an expression over metrics: MiniStack takes alarms of one metric alone. */
export const isOverMetrics = (properties: Record<string, unknown>): boolean => 'Metrics' in properties;

/** The alarm over the first metric of its expression. */
export function overOneMetric({ Metrics, ...rest }: Record<string, unknown>): Record<string, unknown> {
  const first = v.parse(v.array(v.unknown()), Metrics).find((one) => v.is(metric, one));
  const { Metric, Period } = v.parse(metric, first).MetricStat;
  return { ...rest, ...Metric, Period, Statistic: 'Sum' };
}
