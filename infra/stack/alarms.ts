import { Duration, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
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
import { logicalIdOf, routeKeyOf } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import type { EventPublishing } from './event-publishing.ts';
import { liveAlias } from './live-versions.ts';
import { type Measurements, minute, rate, routeServerErrors, routeThrottles, sum } from './measurements.ts';
import { throttles } from './service-api.ts';
import type { Deployment, EndpointFunction } from './service-function.ts';

/** The topic that alarms notify. The policy of a key of your own must let CloudWatch and EventBridge use it. */
export function alarmTopic(service: Construct, deployment: Deployment, existing?: ITopic): ITopic {
  const { settings, secrets, key } = deployment;
  // It stays where it is: operators have subscribed to it.
  const scope = new Construct(service, 'Alarms');
  const topic =
    existing ?? new Topic(scope, 'Topic', { enforceSSL: true, ...definedOnly({ masterKey: key }) });
  // This policy replaces the topic's default one, which would let alarms publish.
  topic.addToResourcePolicy(
    new PolicyStatement({
      actions: ['sns:Publish'],
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      resources: [topic.topicArn],
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
    }),
  );
  // Secrets Manager reports a rotation that has failed as a whole, also when the function was never invoked. EventBridge
  // gets the event from CloudTrail, if the account has a trail.
  // @see AWS Secrets Manager user guide, "Match AWS Secrets Manager events with Amazon EventBridge"
  new Rule(scope, 'FailedRotations', {
    description: 'RotationFailure: see docs/watching.md',
    eventPattern: {
      source: ['aws.secretsmanager'],
      detailType: ['AWS Service Event via CloudTrail'],
      detail: {
        eventName: ['RotationFailed'],
        additionalEventData: { SecretId: Object.values(secrets).map(({ secretArn }) => secretArn) },
      },
    },
    targets: [new SnsTopic(topic)],
  });
  if (settings.alarmEmail) topic.addSubscription(new EmailSubscription(settings.alarmEmail));
  return topic;
}

/** Parts of a deployment that alarms are about. */
export interface Watched {
  topic: ITopic;
  settings: Settings;
  measurements: Measurements;
  rotations: IFunction[];
  finishing: IFunction;
  refreshing: IFunction;
  functions: readonly EndpointFunction[];
  forwarder: IFunction;
  /** The queue of audit lines that were not forwarded. */
  undeliveredAudit: IQueue;
  publishing: EventPublishing | undefined;
}

/** An alarm: its name, its metric, the least value at which it goes off, and in how many of the last periods. @default in one of one */
type AlarmRow = [
  name: string,
  metric: cloudwatch.IMetric,
  least: number,
  periods?: readonly [some: number, last: number],
];

/**
 * The periods for what must never happen, of a sum of metrics that may be missing. The latest minute of such a sum is 0 until
 * its metrics arrive (FILL), so an alarm that looks at one minute might never go off.
 */
const onceOfSum = [1, 5] as const;

const perMinute = { period: minute };

/** A share of fewer errors of a new version could be chance. */
const fewestOfVersion = 5;

/** The alarms, and those that new versions are rolled back on. `docs/watching.md` says what to do about each. */
export function makeAlarms(stack: Stack, watched: Watched) {
  const scope = new Construct(stack, 'Alarms');
  const action = new SnsAction(watched.topic);
  const silent = ([name, metric, threshold, [some, last] = [1, 1]]: AlarmRow, alarmName?: string) =>
    new cloudwatch.Alarm(scope, name, {
      alarmDescription: `${name}: see docs/watching.md`,
      metric,
      threshold,
      datapointsToAlarm: some,
      evaluationPeriods: last,
      treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      ...definedOnly({ alarmName }),
    });
  const alarmOf = (row: AlarmRow): cloudwatch.Alarm => {
    const alarm = silent(row);
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
    return alarm;
  };
  const { measurements, settings, functions } = watched;
  const { alarmErrorPercent, alarmThrottledPercent, alarmFewest } = settings;
  const errors = rate('5xx', measurements.serverErrors, measurements.requests, alarmFewest);
  const wholeApi = alarmOf(['ServerErrors', errors, alarmErrorPercent, [2, 3]]);
  // Of all requests, the share hides a route that few use. Its errors are added up over a longer time: a few are enough.
  const routes = functions
    .map(aboutRoute(measurements, 'ServerErrorsOf', '5xx', routeServerErrors, alarmFewest, 15))
    .map((row) => alarmOf([...row, alarmErrorPercent]));
  const service = aboutService(watched).map(alarmOf);
  const throttled = functions
    .filter(({ key }) => throttles.has(key))
    .map(aboutRoute(measurements, 'ThrottledAt', '429', routeThrottles, 20, 5))
    .map((row) => alarmOf([...row, alarmThrottledPercent]));
  const events = aboutEvents(watched).map(alarmOf);
  // A name for each version: an alarm that is on about the last one would stop the deployment of its fix.
  const newVersion = (served: EndpointFunction): cloudwatch.Alarm[] =>
    aboutNewVersion(watched, served).map((row) =>
      silent(row, `${settings.stack}-${row[0]}-${served.lambda.currentVersion.version}`),
    );
  const canaries = settings.canary ? functions : [];
  return {
    all: [wholeApi, ...service, ...routes, ...throttled, ...events],
    /**
     * Alarms that a new version of each function is rolled back on: about the whole API, which it may harm by what it writes,
     * and about the version itself. Nobody is told of the latter.
     */
    rollingBack: new Map(canaries.map((served) => [served.key, [wholeApi, ...newVersion(served)]])),
  };
}

/**
 * The alarms about the version of a function that this deployment makes: about its requests alone, and, over all its time as a
 * canary, in comparison with the version before, which has nine times the requests. When the new one has half of the function's
 * errors, it fails nine times as often. A provider that is down fails both.
 * @see AWS SAM developer guide, "Deploying serverless applications gradually": the dimension ExecutedVersion
 */
function aboutNewVersion({ measurements, settings }: Watched, { key, lambda }: EndpointFunction): AlarmRow[] {
  const { functionName: name } = lambda;
  const { version } = lambda.currentVersion;
  const dimensionsMap = { FunctionName: name, Resource: `${name}:${liveAlias}`, ExecutedVersion: version };
  const { serverErrorsOf } = measurements;
  const errors = sum('Errors', {
    failed: serverErrorsOf({ function: name, version, event: 'request_failed' }),
    // Invocations that crashed or timed out, of which no log line tells.
    crashed: lambda.metricErrors({ ...perMinute, dimensionsMap }),
  });
  const invocations = lambda.metricInvocations({ ...perMinute, dimensionsMap });
  const period = Duration.minutes(settings.canaryMinutes);
  const share = rate(
    'The new version of all 5xx',
    serverErrorsOf({ function: name, version }, period),
    serverErrorsOf({ function: name }, period),
    fewestOfVersion,
    period,
  );
  const failing = rate('Errors', errors, invocations, fewestOfVersion);
  return [
    [`NewVersionErrorsOf${logicalIdOf(key)}`, failing, 5, [2, 3]],
    [`NewVersionWorseOf${logicalIdOf(key)}`, share, 50],
  ];
}

/** The name and the metric of an alarm about a route: the share of its invocations that the access log counts under a metric. */
const aboutRoute =
  (of: Measurements, prefix: string, label: string, metricName: string, fewest: number, minutes: number) =>
  ({ key, access, lambda }: EndpointFunction) => {
    const period = Duration.minutes(minutes);
    const part = of.ofRoute(metricName, routeKeyOf(access), period);
    const metric = rate(label, part, lambda.metricInvocations({ period }), fewest, period);
    return [`${prefix}${logicalIdOf(key)}`, metric] as const;
  };

function aboutService({ measurements, settings, rotations, finishing, refreshing }: Watched): AlarmRow[] {
  const { alarmFewest: fewest } = settings;
  const { requests, consumedReads, consumedWrites } = measurements;
  const invocations = measurements.ofFunctions('Invocations');
  const refreshes = measurements
    .total('TokensIssued')
    .with({ dimensionsMap: { grant_type: 'refresh_token' } });
  const ofRefreshes = (which: 'Repeated' | 'Reused', fewest: number) =>
    rate(`${which} refresh tokens`, measurements.total(`RefreshTokens${which}`), refreshes, fewest);
  const wrongSecrets = sum('Wrong secrets', {
    tokens: measurements.because('TokensRefused', 'secret_wrong'),
    others: measurements.because('RequestsRefused', 'secret_wrong'),
  });
  const wrongShare = rate('Wrong secrets', wrongSecrets, requests, 100);
  const refused = measurements.total('PublicClientsRefused');
  const tokenRequests = sum('Token requests', { refused, issued: measurements.total('TokensIssued') });
  const refusedShare = rate('Refused public clients', refused, tokenRequests, 100);
  // 0 while there are fewer than twenty in a minute, of which one can be a cold start.
  const latency = new cloudwatch.MathExpression({
    expression: 'IF(requests >= 20, latency, 0)',
    usingMetrics: { requests, latency: measurements.latency(cloudwatch.Stats.p(99)) },
    label: 'Latency, ms',
    period: minute,
  });
  const throttles = rate('Throttled invocations', measurements.ofFunctions('Throttles'), invocations, fewest);
  const units = sum('Units', { consumedReads, consumedWrites });
  const tableThrottles = rate('Table throttles', measurements.tableThrottles, units, fewest);
  const calls = measurements.total('ProviderLatency', cloudwatch.Stats.SAMPLE_COUNT);
  const providerFailures = rate('Provider failures', measurements.total('ProviderFailures'), calls, fewest);
  const often = { period: Duration.minutes(10) };
  const loginHook: AlarmRow[] =
    settings.loginHook === undefined
      ? []
      : [['LoginHookFailed', measurements.total('LoginHookFailures'), 1, [2, 5]]];
  const runs = { invocations: finishing.metricInvocations(often) };
  const missed = inactive('Missed invocation', often.period, runs, '1');
  return [
    ['Latency', latency, settings.alarmLatencyMilliseconds, [5, 5]],
    ['FunctionThrottles', throttles, settings.alarmThrottledPercent, [2, 5]],
    ['TableThrottles', tableThrottles, settings.alarmThrottledPercent, [2, 5]],
    ['ProviderFailures', providerFailures, settings.alarmProviderFailurePercent, [3, 5]],
    ['ProviderStreamUpdated', measurements.total('ProviderStreamsUpdated'), 1],
    ['StaleSecrets', measurements.total('StaleSecrets'), 1, [2, 5]],
    ['RefreshTokensReused', ofRefreshes('Reused', fewest), settings.alarmReusedPercent],
    // A few have lost their response, at any time.
    ['RefreshTokensRepeated', ofRefreshes('Repeated', 20), settings.alarmRepeatedPercent, [3, 5]],
    ['WrongSecrets', wrongShare, settings.alarmWrongSecretPercent, [3, 5]],
    ['PublicClientsRefused', refusedShare, settings.alarmPublicRefusalPercent, [3, 5]],
    ...loginHook,
    ['AccessRequestFull', measurements.because('RequestsRefused', 'access_request_full'), 1],
    ['RotationFailure', errorsOf(rotations), 1, onceOfSum],
    ['DeletionsUnfinished', errorsOf([finishing]), 1, onceOfSum],
    ['FinishDeletionsStopped', missed, 1, [3, 3]],
    ['ListsNotRefreshed', errorsOf([refreshing]), 1, [3, 5]],
  ];
}

/** The alarms about the audit lines, and about published events if there are any. */
function aboutEvents(watched: Watched): AlarmRow[] {
  const { measurements, settings, publishing } = watched;
  const auditFailures = sum('Audit failures', {
    failed: watched.forwarder.metricErrors(perMinute),
    waiting: watched.undeliveredAudit.metricApproximateNumberOfMessagesVisible(perMinute),
  });
  const audit: AlarmRow = ['AuditFailure', auditFailures, 1, onceOfSum];
  if (!publishing) return [audit];
  const { publisher, deadLetters } = publishing;
  const period = Duration.minutes(15);
  const written = measurements.consumedWrites.with({ period });
  // Refreshes are read and invoke nothing. After an upgrade from 1.0.0, the last hour has invocations alone.
  const activity = {
    invocations: publisher.metricInvocations({ period }),
    read: publishing.changesRead.with({ period }),
  };
  const delay = publisher.metric('IteratorAge', { ...perMinute, statistic: cloudwatch.Stats.MAXIMUM });
  const unpublished = inactive('Unread write units', period, activity, 'FILL(written, 0)', { written });
  return [
    audit,
    ['EventsDelayed', delay, 15 * 60_000, [3, 5]],
    ['EventsStopped', unpublished, settings.alarmFewest, [2, 4]],
    ['EventsUndeliverable', deadLetters.metricApproximateNumberOfMessagesVisible(perMinute), 1],
  ];
}

/** An expression for each period in which metrics count nothing, else 0. */
const inactive = (
  label: string,
  period: Duration,
  activity: Record<string, cloudwatch.Metric>,
  expression: string,
  others: Record<string, cloudwatch.Metric> = {},
): cloudwatch.IMetric => {
  const counted = Object.keys(activity).map((name) => `FILL(${name}, 0)`);
  return new cloudwatch.MathExpression({
    expression: `IF(${counted.join(' + ')} < 1, ${expression}, 0)`,
    usingMetrics: { ...activity, ...others },
    label,
    period,
  });
};

const errorsOf = (lambdas: IFunction[]): cloudwatch.IMetric =>
  sum(
    'Errors',
    Object.fromEntries(lambdas.map((lambda, place) => [`errors${place}`, lambda.metricErrors(perMinute)])),
  );
