import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';

/** The sum of metrics of which some may be missing. */
export const sum = (label: string, usingMetrics: Record<string, IMetric>): MathExpression =>
  new MathExpression({
    expression: Object.keys(usingMetrics)
      .map((name) => `FILL(${name}, 0)`)
      .join(' + '),
    usingMetrics,
    label,
    period: Duration.minutes(1),
  });

interface Rate {
  part: IMetric;
  /** A metric that may be missing, or less than the part, since another service may count it. */
  whole: IMetric;
  /** The least part that says anything: a share of a few is noise. */
  fewest: number;
  label: string;
  period?: Duration;
}

/** The share that a part is of a whole, in per cent; 0 while the part is too small. */
export const rate = ({ part, whole, fewest, label, period = Duration.minutes(1) }: Rate): MathExpression =>
  new MathExpression({
    expression: `IF(part >= ${fewest}, 100 * part / MAX([part, FILL(whole, 0)]), 0)`,
    usingMetrics: { part, whole },
    label,
    period,
  });
