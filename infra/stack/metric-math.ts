import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';

export const minute = Duration.minutes(1);
/** The highest value of a minute. */
export const most = { statistic: Stats.MAXIMUM, period: minute };

/** The sum of metrics of which some may be missing. */
export const sum = (label: string, usingMetrics: Record<string, IMetric>): MathExpression =>
  new MathExpression({
    expression: Object.keys(usingMetrics)
      .map((name) => `FILL(${name}, 0)`)
      .join(' + '),
    usingMetrics,
    label,
    period: minute,
  });

interface Share {
  part: IMetric;
  /** A metric that may be missing, or less than the part, since another service may count it. */
  whole: IMetric;
}

/**
 * The share that a part is of a whole, in per cent; 0 while the part is too small.
 * @param fewest the least part that says anything: a share of a few is noise
 */
export const rate = (label: string, share: Share, fewest: number, period = minute): MathExpression =>
  new MathExpression({
    expression: `IF(part >= ${fewest}, 100 * part / MAX([part, FILL(whole, 0)]), 0)`,
    usingMetrics: { ...share },
    label: `${label}, per cent`,
    period,
  });
