import { Duration, Stack } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { Rule } from 'aws-cdk-lib/aws-events';
import { SnsTopic } from 'aws-cdk-lib/aws-events-targets';
import { ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { definedOnly } from '../../lib/foundation/defined-only.ts';
import { logicalIdOf } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { EventPublishing } from './event-publishing.ts';
import { liveAlias } from './live-versions.ts';
import { type Measurements, minute, rate, routeServerErrors, routeThrottles, sum } from './measurements.ts';
import { throttles } from './service-api.ts';
import type { Deployment, EndpointFunction } from './service-function.ts';

/** The topic that alarms notify. The policy of a key of your own must let CloudWatch and EventBridge use it. */
export function alarmTopic(service: Construct, deployment: Deployment, existing?: ITopic): ITopic {
  const { settings, secrets, key: masterKey } = deployment;
  // It stays in this scope: operators have subscribed to the topic.
  const scope = new Construct(service, 'Alarms');
  const topic = existing ?? new Topic(scope, 'Topic', definedOnly({ enforceSSL: true, masterKey }));
  // This policy replaces the topic's default one, which would let alarms publish.
  topic.grantPublish(
    new ServicePrincipal('cloudwatch.amazonaws.com', {
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
    }),
  );
  // A rotation that failed as a whole, even if its function was not invoked. The account needs a trail in CloudTrail.
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
  audit: AuditTrail;
  publishing: EventPublishing | undefined;
}

/** An alarm: its name, its metric, the least value at which it goes off, and in how many of the last periods. @default 1 of 1 */
type AlarmRow = [
  name: string,
  metric: cloudwatch.IMetric,
  least: number,
  periods?: readonly [some: number, last: number],
];

/** Periods for a sum of what must never happen: `FILL` makes its latest minute 0 until all metrics have arrived. */
const onceOfSum = [1, 5] as const;

const perMinute = { period: minute };

/** The fewest errors of a new version whose share can't be chance. */
const fewestOfVersion = 5;

/** The alarms, and those that new versions are rolled back on. `docs/watching.md` says what to do about each. */
export function makeAlarms(stack: Stack, watched: Watched) {
  const { measurements, settings, functions } = watched;
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
  const { alarmErrorPercent, alarmThrottledPercent, alarmFewest } = settings;
  const errors = rate('5xx', measurements.serverErrors, measurements.requests, alarmFewest);
  const wholeApi = alarmOf(['ServerErrors', errors, alarmErrorPercent, [2, 3]]);
  // The share of all requests hides a route that few use: its own errors are counted over a longer time.
  const routes = functions
    .map(aboutRoute(measurements, 'ServerErrorsOf', '5xx', routeServerErrors, alarmFewest, 15))
    .map((row) => alarmOf([...row, alarmErrorPercent]));
  const service = aboutService(watched).map(alarmOf);
  const throttled = functions
    .filter(({ key }) => throttles.has(key))
    .map(aboutRoute(measurements, 'ThrottledAt', '429', routeThrottles, 20, 5))
    .map((row) => alarmOf([...row, alarmThrottledPercent]));
  const events = aboutEvents(watched).map(alarmOf);
  // Named after the version: an alarm that is on about the last one would stop the deployment of its fix.
  const newVersion = (served: EndpointFunction): cloudwatch.Alarm[] =>
    aboutNewVersion(watched, served).map((row) =>
      silent(row, `${settings.stack}-${row[0]}-${served.lambda.currentVersion.version}`),
    );
  const canaries = settings.canary ? functions : [];
  return {
    all: [wholeApi, ...service, ...routes, ...throttled, ...events],
    /** By function: about the whole API, which a new version may harm by what it writes, and, silently, about the version. */
    rollingBack: new Map(canaries.map((served) => [served.key, [wholeApi, ...newVersion(served)]])),
  };
}

/**
 * Alarms about the new version of a function: about its own requests, and about its errors in all its time as a canary. With a
 * tenth of the requests and half of the errors, it fails nine times as often as the version before.
 * @see AWS SAM developer guide, "Deploying serverless applications gradually": the dimension ExecutedVersion
 */
function aboutNewVersion({ measurements, settings }: Watched, { key, lambda }: EndpointFunction): AlarmRow[] {
  const { functionName: name } = lambda;
  const { version } = lambda.currentVersion;
  const dimensionsMap = { FunctionName: name, Resource: `${name}:${liveAlias}`, ExecutedVersion: version };
  const { serverErrorsOf } = measurements;
  const errors = sum('Errors', {
    failed: serverErrorsOf({ function: name, version, event: 'request_failed' }),
    // Crashes and timeouts, which no log line tells of.
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

/** Name and metric of an alarm about a route: the share of its requests that the access log counts under a metric. */
const aboutRoute =
  (of: Measurements, prefix: string, label: string, metricName: string, fewest: number, minutes: number) =>
  ({ key, access, lambda }: EndpointFunction) => {
    const period = Duration.minutes(minutes);
    const part = of.ofRoute(metricName, access.route, period);
    const metric = rate(label, part, lambda.metricInvocations({ period }), fewest, period);
    return [`${prefix}${logicalIdOf(key)}`, metric] as const;
  };

function aboutService({ measurements, settings, rotations, finishing, refreshing }: Watched): AlarmRow[] {
  const { alarmFewest: fewest } = settings;
  const { total, because, ofFunctions, requests, consumedReads, consumedWrites } = measurements;
  const invocations = ofFunctions('Invocations');
  const refreshes = total('TokensIssued').with({ dimensionsMap: { grant_type: 'refresh_token' } });
  const ofRefreshes = (which: 'Repeated' | 'Reused', fewest: number) =>
    rate(`${which} refresh tokens`, total(`RefreshTokens${which}`), refreshes, fewest);
  const wrongSecrets = sum('Wrong secrets', {
    tokens: because('TokensRefused', 'secret_wrong'),
    others: because('RequestsRefused', 'secret_wrong'),
  });
  const wrongShare = rate('Wrong secrets', wrongSecrets, requests, 100);
  const refused = total('PublicClientsRefused');
  const tokenRequests = sum('Token requests', { refused, issued: total('TokensIssued') });
  const refusedShare = rate('Refused public clients', refused, tokenRequests, 100);
  // Among fewer than twenty requests, one cold start would set the alarm off.
  const latency = new cloudwatch.MathExpression({
    expression: 'IF(requests >= 20, latency, 0)',
    usingMetrics: { requests, latency: measurements.latency(cloudwatch.Stats.p(99)) },
    label: 'Latency, ms',
    period: minute,
  });
  const throttles = rate('Throttled invocations', ofFunctions('Throttles'), invocations, fewest);
  const units = sum('Units', { consumedReads, consumedWrites });
  const tableThrottles = rate('Table throttles', measurements.tableThrottles, units, fewest);
  const calls = total('ProviderLatency', cloudwatch.Stats.SAMPLE_COUNT);
  const providerFailures = rate('Provider failures', total('ProviderFailures'), calls, fewest);
  const loginHook: AlarmRow = ['LoginHookFailed', total('LoginHookFailures'), 1, [2, 5]];
  const period = Duration.minutes(10);
  const missed = new cloudwatch.MathExpression({
    expression: 'IF(FILL(invocations, 0) < 1, 1, 0)',
    usingMetrics: { invocations: finishing.metricInvocations({ period }) },
    label: 'Missed invocation',
    period,
  });
  return [
    ['Latency', latency, settings.alarmLatencyMilliseconds, [5, 5]],
    ['FunctionThrottles', throttles, settings.alarmThrottledPercent, [2, 5]],
    ['TableThrottles', tableThrottles, settings.alarmThrottledPercent, [2, 5]],
    ['ProviderFailures', providerFailures, settings.alarmProviderFailurePercent, [3, 5]],
    ['ProviderStreamUpdated', total('ProviderStreamsUpdated'), 1],
    ['StaleSecrets', total('StaleSecrets'), 1, [2, 5]],
    ['RefreshTokensReused', ofRefreshes('Reused', fewest), settings.alarmReusedPercent],
    // A few have lost their response, at any time.
    ['RefreshTokensRepeated', ofRefreshes('Repeated', 20), settings.alarmRepeatedPercent, [3, 5]],
    ['WrongSecrets', wrongShare, settings.alarmWrongSecretPercent, [3, 5]],
    ['PublicClientsRefused', refusedShare, settings.alarmPublicRefusalPercent, [3, 5]],
    ...(settings.loginHook ? [loginHook] : []),
    ['AccessRequestFull', because('RequestsRefused', 'access_request_full'), 1],
    ['RotationFailure', errorsOf(rotations), 1, onceOfSum],
    ['DeletionsUnfinished', errorsOf([finishing]), 1, onceOfSum],
    ['FinishDeletionsStopped', missed, 1, [3, 3]],
    ['ListsNotRefreshed', errorsOf([refreshing]), 1, [3, 5]],
  ];
}

/** Alarms about audit lines, and about published events if there are any. */
function aboutEvents({ measurements, settings, audit, publishing }: Watched): AlarmRow[] {
  const auditFailures = sum('Audit failures', {
    failed: audit.forwarder.metricErrors(perMinute),
    waiting: audit.undelivered.metricApproximateNumberOfMessagesVisible(perMinute),
  });
  const ofAudit: AlarmRow = ['AuditFailure', auditFailures, 1, onceOfSum];
  if (!publishing) return [ofAudit];
  const { publisher, deadLetters } = publishing;
  const period = Duration.minutes(15);
  const unread = new cloudwatch.MathExpression({
    expression: 'IF(FILL(invocations, 0) + FILL(read, 0) < 1, FILL(written, 0), 0)',
    usingMetrics: {
      // Refreshes are read and invoke nothing. After an upgrade from 1.0.0, the last hour has invocations alone.
      invocations: publisher.metricInvocations({ period }),
      read: publishing.changesRead.with({ period }),
      written: measurements.consumedWrites.with({ period }),
    },
    label: 'Unread write units',
    period,
  });
  const delay = publisher.metric('IteratorAge', { ...perMinute, statistic: cloudwatch.Stats.MAXIMUM });
  return [
    ofAudit,
    ['EventsDelayed', delay, 15 * 60_000, [3, 5]],
    ['EventsStopped', unread, settings.alarmFewest, [2, 4]],
    ['EventsUndeliverable', deadLetters.metricApproximateNumberOfMessagesVisible(perMinute), 1],
  ];
}

const errorsOf = (lambdas: IFunction[]): cloudwatch.IMetric =>
  sum(
    'Errors',
    Object.fromEntries(lambdas.map((lambda, place) => [`errors${place}`, lambda.metricErrors(perMinute)])),
  );
