import { Duration, Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { EventPublishing } from './event-publishing.ts';
import type { Measurements } from './measurements.ts';

/** When an alarm goes off: in `minutes` of the last `of` minutes the metric was at least `from`. */
interface Limit {
  metric: IMetric;
  from: number;
  minutes: number;
  of: number;
}

interface ServiceAlarmsProps {
  measurements: Measurements;
  rotations: IFunction[];
  forwarder: IFunction;
  /** The queue of audit lines that were not forwarded. */
  undeliveredAudit: IQueue;
  /** Absent when nothing is published. */
  publishing: Pick<EventPublishing, 'publisher' | 'deadLetters'> | undefined;
  /** Who gets an e-mail. */
  email?: string | undefined;
}

/** The alarms and their topic. `docs/watching.md` says what to do about each. */
export class ServiceAlarms extends Construct {
  readonly topic: Topic;
  readonly all: Alarm[];
  /** The alarm that rolls a new version back. */
  readonly serverErrors: Alarm;

  constructor(
    scope: Construct,
    id: string,
    { measurements, rotations, forwarder, undeliveredAudit, publishing, email }: ServiceAlarmsProps,
  ) {
    super(scope, id);
    this.topic = new Topic(this, 'Topic', { enforceSSL: true });
    // This policy replaces the topic's default one, which would let alarms publish.
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        actions: ['sns:Publish'],
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        resources: [this.topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } },
      }),
    );
    if (email) this.topic.addSubscription(new EmailSubscription(email));
    const { total } = measurements;
    this.serverErrors = this.#alarm('ServerErrors', {
      metric: measurements.serverErrorRate(),
      from: 1,
      minutes: 2,
      of: 3,
    });
    this.all = [
      this.serverErrors,
      this.#alarm('Latency', { metric: measurements.latency(Stats.p(99)), from: 3000, minutes: 5, of: 5 }),
      this.#alarm('FunctionThrottles', {
        metric: measurements.functionThrottles(),
        from: 1,
        minutes: 2,
        of: 5,
      }),
      this.#alarm('TableThrottles', { metric: measurements.tableThrottles(), from: 1, minutes: 2, of: 5 }),
      this.#alarm('ProviderFailures', { metric: total('ProviderFailures'), from: 5, minutes: 3, of: 5 }),
      this.#alarm('RefreshTokensReused', {
        metric: total('RefreshTokensReused'),
        from: 5,
        minutes: 1,
        of: 1,
      }),
      this.#alarm('WrongSecrets', { metric: measurements.wrongSecrets(), from: 100, minutes: 3, of: 5 }),
      this.#alarm('RotationFailure', {
        metric: measurements.errorsOf(rotations),
        from: 1,
        minutes: 1,
        of: 1,
      }),
      this.#alarm('AuditFailure', {
        metric: measurements.auditFailures(forwarder, undeliveredAudit),
        from: 1,
        minutes: 1,
        of: 1,
      }),
      ...(publishing ? this.#publishingAlarms(publishing) : []),
    ];
  }

  #publishingAlarms({ publisher, deadLetters }: Pick<EventPublishing, 'publisher' | 'deadLetters'>): Alarm[] {
    const most = { statistic: Stats.MAXIMUM, period: Duration.minutes(1) };
    const age = publisher.metric('IteratorAge', most);
    const letters = deadLetters.metricApproximateNumberOfMessagesVisible(most);
    return [
      this.#alarm('EventsDelayed', { metric: age, from: 15 * 60_000, minutes: 3, of: 5 }),
      this.#alarm('EventsUndeliverable', { metric: letters, from: 1, minutes: 1, of: 1 }),
    ];
  }

  #alarm(name: string, { metric, from, minutes, of }: Limit): Alarm {
    const alarm = new Alarm(this, name, {
      alarmDescription: `${name}: see docs/watching.md`,
      metric,
      threshold: from,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      datapointsToAlarm: minutes,
      evaluationPeriods: of,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    const tell = new SnsAction(this.topic);
    alarm.addAlarmAction(tell);
    alarm.addOkAction(tell);
    return alarm;
  }
}
