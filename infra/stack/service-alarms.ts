import { Duration, Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, type IMetric, Stats, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Rule } from 'aws-cdk-lib/aws-events';
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import { routeKeyOf } from '../endpoints.ts';
import type { EventPublishing } from './event-publishing.ts';
import type { Measurements } from './measurements.ts';
import { logicalIdOf } from './service-function.ts';

/** The rule by which an alarm goes off: in `periods` of the last `of` periods of the metric, it was at least `from`. */
interface Limit {
  metric: IMetric;
  from: number;
  periods: number;
  of: number;
}

interface ServiceAlarmsProps {
  measurements: Measurements;
  rotations: IFunction[];
  /** The function that finishes deletions. */
  finishing: IFunction;
  secrets: Secret[];
  endpoints: ReadonlyMap<string, AnyEndpoint>;
  forwarder: IFunction;
  /** The queue of audit lines that were not forwarded. */
  undeliveredAudit: IQueue;
  /** Absent when nothing is published. */
  publishing: Pick<EventPublishing, 'publisher' | 'deadLetters'> | undefined;
  /** The e-mail addresses that alarms go to. */
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
    {
      measurements,
      rotations,
      finishing,
      secrets,
      endpoints,
      forwarder,
      undeliveredAudit,
      publishing,
      email,
    }: ServiceAlarmsProps,
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
    this.#tellOfFailedRotations(secrets);
    if (email) this.topic.addSubscription(new EmailSubscription(email));
    const { total } = measurements;
    this.serverErrors = this.#alarm('ServerErrors', {
      metric: measurements.serverErrorRate(),
      from: 1,
      periods: 2,
      of: 3,
    });
    this.all = [
      this.serverErrors,
      this.#alarm('Latency', { metric: measurements.latency(Stats.p(99)), from: 3000, periods: 5, of: 5 }),
      this.#alarm('FunctionThrottles', {
        metric: measurements.functionThrottles(),
        from: 1,
        periods: 2,
        of: 5,
      }),
      this.#alarm('TableThrottles', { metric: measurements.tableThrottles(), from: 1, periods: 2, of: 5 }),
      this.#alarm('ProviderFailures', { metric: total('ProviderFailures'), from: 5, periods: 3, of: 5 }),
      this.#alarm('StaleSecrets', { metric: total('StaleSecrets'), from: 1, periods: 2, of: 5 }),
      this.#alarm('RefreshTokensReused', {
        metric: total('RefreshTokensReused'),
        from: 5,
        periods: 1,
        of: 1,
      }),
      this.#alarm('RefreshTokensRepeated', {
        metric: measurements.repeatedRefreshRate(),
        from: 10,
        periods: 3,
        of: 5,
      }),
      this.#alarm('WrongSecrets', { metric: measurements.wrongSecrets(), from: 100, periods: 3, of: 5 }),
      this.#alarm('AccessRequestFull', {
        metric: measurements.fullAccessRequests(),
        from: 1,
        periods: 1,
        of: 1,
      }),
      this.#alarm('RotationFailure', {
        metric: measurements.errorsOf(rotations),
        from: 1,
        periods: 1,
        of: 1,
      }),
      this.#alarm('DeletionsUnfinished', {
        metric: measurements.errorsOf([finishing]),
        from: 1,
        periods: 1,
        of: 1,
      }),
      // The share of all requests hides a route that few use. Such a route may get less than one request a minute, so its
      // errors are added up over a longer time: five in a row are enough, even minutes apart.
      ...[...endpoints].map(([key, endpoint]) =>
        this.#alarm(`ServerErrorsOf${logicalIdOf(key)}`, {
          metric: measurements.serverErrorsOf(routeKeyOf(endpoint), Duration.minutes(15)),
          from: 5,
          periods: 1,
          of: 1,
        }),
      ),
      this.#alarm('AuditFailure', {
        metric: measurements.auditFailures(forwarder, undeliveredAudit),
        from: 1,
        periods: 1,
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
      this.#alarm('EventsDelayed', { metric: age, from: 15 * 60_000, periods: 3, of: 5 }),
      this.#alarm('EventsUndeliverable', { metric: letters, from: 1, periods: 1, of: 1 }),
    ];
  }

  /**
   * Secrets Manager reports a rotation that has failed as a whole, also when the function was never invoked. EventBridge
   * gets the event from CloudTrail, if the account has a trail.
   * @see AWS Secrets Manager user guide, "Match AWS Secrets Manager events with Amazon EventBridge"
   */
  #tellOfFailedRotations(secrets: Secret[]): void {
    const rule = new Rule(this, 'FailedRotations', {
      description: 'RotationFailure: see docs/watching.md',
      eventPattern: {
        source: ['aws.secretsmanager'],
        detailType: ['AWS Service Event via CloudTrail'],
        detail: {
          eventName: ['RotationFailed'],
          additionalEventData: { SecretId: secrets.map(({ secretArn }) => secretArn) },
        },
      },
    });
    rule.addTarget(new SnsTopic(this.topic));
  }

  #alarm(name: string, { metric, from, periods, of }: Limit): Alarm {
    const alarm = new Alarm(this, name, {
      alarmDescription: `${name}: see docs/watching.md`,
      metric,
      threshold: from,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      datapointsToAlarm: periods,
      evaluationPeriods: of,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    const tell = new SnsAction(this.topic);
    alarm.addAlarmAction(tell);
    alarm.addOkAction(tell);
    return alarm;
  }
}
