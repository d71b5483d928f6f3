import { Duration, type Stack } from 'aws-cdk-lib';
import {
  Alarm,
  ComparisonOperator,
  type IMetric,
  MathExpression,
  Stats,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Rule } from 'aws-cdk-lib/aws-events';
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import { routeKeyOf } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import type { EventPublishing } from './event-publishing.ts';
import { type Measurements, minute, rate, routeServerErrors, routeThrottles, sum } from './measurements.ts';
import { type Deployment, logicalIdOf, type ServiceFunction } from './service-function.ts';

/**
 * The topic that alarms notify. It stays where it is: operators have subscribed to it. The policy of a deployment's own key must
 * let CloudWatch and EventBridge use it.
 */
export function alarmTopic(stack: Stack, { settings, secrets, key }: Deployment): Topic {
  const scope = new Construct(stack, 'Alarms');
  const topic = new Topic(scope, 'Topic', { enforceSSL: true, ...definedOnly({ masterKey: key }) });
  // This policy replaces the topic's default one, which would let alarms publish.
  topic.addToResourcePolicy(
    new PolicyStatement({
      actions: ['sns:Publish'],
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      resources: [topic.topicArn],
      conditions: { StringEquals: { 'aws:SourceAccount': stack.account } },
    }),
  );
  // Secrets Manager reports a rotation that has failed as a whole, also when the function was never invoked. EventBridge
  // gets the event from CloudTrail, if the account has a trail.
  // @see AWS Secrets Manager user guide, "Match AWS Secrets Manager events with Amazon EventBridge"
  const rule = new Rule(scope, 'FailedRotations', {
    description: 'RotationFailure: see docs/watching.md',
    eventPattern: {
      source: ['aws.secretsmanager'],
      detailType: ['AWS Service Event via CloudTrail'],
      detail: {
        eventName: ['RotationFailed'],
        additionalEventData: { SecretId: Object.values(secrets).map(({ secretArn }) => secretArn) },
      },
    },
  });
  rule.addTarget(new SnsTopic(topic));
  if (settings.alarmEmail) topic.addSubscription(new EmailSubscription(settings.alarmEmail));
  return topic;
}

/** An endpoint, the function that serves it, and whether its route has a throttle of its own. */
interface WatchedEndpoint {
  endpoint: AnyEndpoint;
  served: ServiceFunction;
  isThrottled: boolean;
}

/** Parts of a deployment that alarms are about. */
export interface Watched {
  topic: ITopic;
  settings: Settings;
  measurements: Measurements;
  rotations: IFunction[];
  finishing: IFunction;
  endpoints: readonly WatchedEndpoint[];
  forwarder: IFunction;
  /** The queue of audit lines that were not forwarded. */
  undeliveredAudit: IQueue;
  /** Absent when nothing is published. */
  publishing: EventPublishing | undefined;
}

/** An alarm by its name, its metric, and the rule by which it goes off: in `periods` of the last `of` periods, it was at least `from`. */
type AlarmRow = [name: string, metric: IMetric, rule: { from: number; periods: number; of: number }];

/** The rule of what must never happen. */
const once = { from: 1, periods: 1, of: 1 };

/**
 * The rule of what must never happen, for a sum of metrics that may be missing. The latest minute of such a sum is 0 until its metrics arrive, so an
 * alarm that looks at one minute might never go off.
 * @see Amazon CloudWatch user guide, "Using math expressions with CloudWatch metrics": FILL
 */
const onceOfSum = { from: 1, periods: 1, of: 5 };

const perMinute = { statistic: Stats.SUM, period: minute };
/** The highest value of a minute. */
const most = { statistic: Stats.MAXIMUM, period: minute };

/** The alarms, and those that new versions are rolled back on. `docs/watching.md` says what to do about each. */
export function makeAlarms(stack: Stack, watched: Watched) {
  const scope = new Construct(stack, 'Alarms');
  const action = new SnsAction(watched.topic);
  const alarmOf = ([name, metric, { from, periods, of }]: AlarmRow): Alarm => {
    const alarm = new Alarm(scope, name, {
      alarmDescription: `${name}: see docs/watching.md`,
      metric,
      threshold: from,
      comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
      datapointsToAlarm: periods,
      evaluationPeriods: of,
      treatMissingData: TreatMissingData.NOT_BREACHING,
    });
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
    return alarm;
  };
  const { measurements, settings, endpoints } = watched;
  const wholeApi = alarmOf([
    'ServerErrors',
    rate('5xx', measurements.serverErrors(), measurements.requests(), settings.alarmFewest),
    { from: settings.alarmErrorPercent, periods: 2, of: 3 },
  ]);
  const routes = new Map(endpoints.map((one) => [one.served.key, alarmOf(serverErrorsOf(one, watched))]));
  const [service, others] = [aboutService(watched), aboutTheRest(watched)];
  return {
    all: [wholeApi, ...service.map(alarmOf), ...routes.values(), ...others.map(alarmOf)],
    /** Alarms that a new version of a function is rolled back on: about the whole API, and about its own route. */
    about: (key: string): Alarm[] => [wholeApi, ...[routes.get(key) ?? []].flat()],
  };
}

/**
 * The alarm about one route. The share of all requests hides a route that few use. Such a route may get less than one
 * request a minute, so its errors are added up over a longer time: a few in a row are enough, even minutes apart. The
 * access log counts the errors; a request that has reached no function is no invocation.
 */
const serverErrorsOf = (one: WatchedEndpoint, { measurements, settings }: Watched): AlarmRow => [
  `ServerErrorsOf${logicalIdOf(one.served.key)}`,
  rateOfRoute('5xx', measurements, one, routeServerErrors, settings.alarmFewest, Duration.minutes(15)),
  { from: settings.alarmErrorPercent, periods: 1, of: 1 },
];

function aboutService({ measurements, settings, rotations, finishing }: Watched): AlarmRow[] {
  const { alarmFewest: fewest } = settings;
  const throttled = { from: settings.alarmThrottledPercent, periods: 2, of: 5 };
  const throttles = measurements.ofFunctions('Throttles');
  const [consumedReads, consumedWrites] = measurements.consumed();
  const calls = measurements.total('ProviderLatency', Stats.SAMPLE_COUNT);
  const refreshes = measurements
    .total('TokensIssued')
    .with({ dimensionsMap: { grant_type: 'refresh_token' } });
  const rateOfRefreshes = (which: 'Repeated' | 'Reused', fewest: number) =>
    rate(`${which} refresh tokens`, measurements.total(`RefreshTokens${which}`), refreshes, fewest);
  const wrongSecrets = sum('Wrong secrets', {
    tokens: measurements.because('TokensRefused', 'secret_wrong'),
    others: measurements.because('RequestsRefused', 'secret_wrong'),
  });
  return [
    [
      'Latency',
      // 0 while there are fewer than twenty in a minute, of which one can be a cold start.
      new MathExpression({
        expression: 'IF(requests >= 20, latency, 0)',
        usingMetrics: { requests: measurements.requests(), latency: measurements.latency(Stats.p(99)) },
        label: 'Latency, ms',
        period: minute,
      }),
      { from: settings.alarmLatencyMilliseconds, periods: 5, of: 5 },
    ],
    [
      'FunctionThrottles',
      rate('Throttled invocations', throttles, measurements.ofFunctions('Invocations'), fewest),
      throttled,
    ],
    [
      'TableThrottles',
      // About: a request consumes one unit or a few.
      rate(
        'Table throttles',
        measurements.tableThrottles(),
        sum('Units', { consumedReads, consumedWrites }),
        fewest,
      ),
      throttled,
    ],
    [
      'ProviderFailures',
      rate('Provider failures', measurements.total('ProviderFailures'), calls, fewest),
      { from: settings.alarmProviderFailurePercent, periods: 3, of: 5 },
    ],
    ['StaleSecrets', measurements.total('StaleSecrets'), { from: 1, periods: 2, of: 5 }],
    // The number of outdated refresh tokens, in per cent of the refreshes.
    [
      'RefreshTokensReused',
      rateOfRefreshes('Reused', fewest),
      { from: settings.alarmReusedPercent, periods: 1, of: 1 },
    ],
    // The refresh token had been used once before; a few have lost their response, at any time.
    [
      'RefreshTokensRepeated',
      rateOfRefreshes('Repeated', 20),
      { from: settings.alarmRepeatedPercent, periods: 3, of: 5 },
    ],
    // A wrong secret of a client, an account or a Login App Token; 0 for fewer than a hundred a minute.
    [
      'WrongSecrets',
      rate('Wrong secrets', wrongSecrets, measurements.requests(), 100),
      { from: settings.alarmWrongSecretPercent, periods: 3, of: 5 },
    ],
    ['AccessRequestFull', measurements.because('RequestsRefused', 'access_request_full'), once],
    ['RotationFailure', errorsOf(rotations), onceOfSum],
    ['DeletionsUnfinished', errorsOf([finishing]), onceOfSum],
    ['FinishDeletionsStopped', missedInvocation(finishing), { from: 1, periods: 3, of: 3 }],
  ];
}

function aboutTheRest(watched: Watched): AlarmRow[] {
  const { measurements, settings, endpoints, forwarder, undeliveredAudit, publishing } = watched;
  const period = Duration.minutes(5);
  return [
    ...endpoints
      .filter(({ isThrottled }) => isThrottled)
      .map(
        (one): AlarmRow => [
          `ThrottledAt${logicalIdOf(one.served.key)}`,
          rateOfRoute('429', measurements, one, routeThrottles, 20, period),
          { from: settings.alarmThrottledPercent, periods: 1, of: 1 },
        ],
      ),
    // Attempts to forward audit lines that failed, and deliveries that wait in the queue.
    [
      'AuditFailure',
      sum('Audit failures', {
        failed: forwarder.metricErrors(perMinute),
        waiting: undeliveredAudit.metricApproximateNumberOfMessagesVisible(most),
      }),
      onceOfSum,
    ],
    ...(publishing ? aboutPublishing(publishing, measurements, settings) : []),
  ];
}

const aboutPublishing = (
  { publisher, deadLetters }: EventPublishing,
  measurements: Measurements,
  settings: Settings,
): AlarmRow[] => [
  ['EventsDelayed', publisher.metric('IteratorAge', most), { from: 15 * 60_000, periods: 3, of: 5 }],
  [
    'EventsStopped',
    unpublishedWrites(measurements, publisher),
    { from: settings.alarmFewest, periods: 2, of: 4 },
  ],
  ['EventsUndeliverable', deadLetters.metricApproximateNumberOfMessagesVisible(most), once],
];

/** The share of the requests to one route that the access log counts under a metric. */
function rateOfRoute(
  label: string,
  measurements: Measurements,
  { endpoint, served }: WatchedEndpoint,
  metricName: string,
  fewest: number,
  period: Duration,
): IMetric {
  const part = measurements.ofRoute(metricName, routeKeyOf(endpoint), period);
  return rate(label, part, invocationsOf(served.lambda, period), fewest, period);
}

/** Units that were written to the table in 15 minutes in which the publisher was not invoked, else 0. */
function unpublishedWrites(measurements: Measurements, publisher: IFunction): IMetric {
  const period = Duration.minutes(15);
  const [, written] = measurements.consumed();
  return new MathExpression({
    expression: 'IF(FILL(invocations, 0) < 1, FILL(written, 0), 0)',
    usingMetrics: { invocations: invocationsOf(publisher, period), written: written.with({ period }) },
    label: 'Unpublished write units',
    period,
  });
}

/** 1 while a function that is invoked every ten minutes was not, else 0. */
function missedInvocation(lambda: IFunction): IMetric {
  const period = Duration.minutes(10);
  return new MathExpression({
    expression: 'IF(FILL(invocations, 0) < 1, 1, 0)',
    usingMetrics: { invocations: invocationsOf(lambda, period) },
    label: 'Missed invocation',
    period,
  });
}

const invocationsOf = (lambda: IFunction, period: Duration): IMetric =>
  lambda.metricInvocations({ statistic: Stats.SUM, period });

/** Errors of the given functions, summed. */
const errorsOf = (lambdas: IFunction[]): IMetric =>
  sum(
    'Errors',
    Object.fromEntries(lambdas.map((lambda, place) => [`errors${place}`, lambda.metricErrors(perMinute)])),
  );
