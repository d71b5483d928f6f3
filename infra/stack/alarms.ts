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
import { pascal } from '../endpoints.ts';
import type { Settings } from '../settings/settings.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { EventPublishing } from './event-publishing.ts';
import { formula, type Measurements, minute, type RouteMetric, rate, sum } from './measurements.ts';
import { throttles } from './service-api.ts';
import { type Deployment, type EndpointFunction, liveAlias } from './service-function.ts';

/**
 * The topic that alarms notify. The policy of a key of your own must let CloudWatch and EventBridge
 * use it.
 */
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
  // It tells of a rotation that failed as a whole, even if its function was not invoked. The
  // account needs a trail in CloudTrail.
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
  functions: readonly EndpointFunction[];
  audit: AuditTrail;
  publishing: EventPublishing | undefined;
}

/**
 * An alarm: its name, its metric, the least value at which it goes off, and in how many of the last
 * periods: `[3, 5]` is in three of the last five. Without them, it is in the last one.
 */
type AlarmRow = [
  name: string,
  metric: cloudwatch.IMetric,
  least: number,
  periods?: readonly [some: number, last: number],
];

/**
 * Periods for a sum of what must never happen: `FILL` makes its latest minute 0 until all metrics
 * have arrived.
 */
const onceOfSum = [1, 5] as const;

const perMinute = { period: minute };

/** The fewest errors of a new version whose share can't be chance. */
const fewestOfVersion = 5;

/**
 * The alarms, and those that new versions are rolled back on. `docs/watching.md` says what to do
 * about each.
 */
export function makeAlarms(stack: Stack, watched: Watched) {
  const { measurements, settings } = watched;
  const scope = new Construct(stack, 'Alarms');
  const alarmOf = (row: AlarmRow, alarmName?: string) => {
    const [name, metric, threshold, periods = [1, 1]] = row;
    const [some, last] = periods;
    return new cloudwatch.Alarm(scope, name, {
      alarmDescription: `${name}: see docs/watching.md`,
      metric,
      threshold,
      datapointsToAlarm: some,
      evaluationPeriods: last,
      treatMissingData: cloudwatch.TreatMissingData.NOT_BREACHING,
      ...definedOnly({ alarmName }),
    });
  };
  // A provider that is down is what ProviderFailures is about. Here it would take releases back.
  const ownErrors = formula('5xx of our own', 'all - FILL(providers, 0)', {
    all: measurements.serverErrors,
    providers: measurements.total('ProviderFailures'),
  });
  const errors = rate('5xx', ownErrors, measurements.requests, settings.alarmFewest);
  const wholeApi = alarmOf(['ServerErrors', errors, settings.alarmErrorPercent, [2, 3]]);
  const rows = [aboutService, aboutRoutes, aboutEvents].flatMap((about) => about(watched));
  const all = [wholeApi, ...rows.map((row) => alarmOf(row))];
  const action = new SnsAction(watched.topic);
  for (const alarm of all) {
    alarm.addAlarmAction(action);
    alarm.addOkAction(action);
  }
  return {
    all,
    /**
     * The alarms that roll a new version back: that of the whole API, which it may harm by what it
     * writes, and its own, which notify nobody.
     */
    rollingBack: (served: EndpointFunction): cloudwatch.Alarm[] => {
      const { version } = served.lambda.currentVersion;
      // Named after the version: an alarm that is on about the last one would stop the deployment
      // of its fix.
      const named = (row: AlarmRow) => alarmOf(row, `${settings.stack}-${row[0]}-${version}`);
      return [wholeApi, ...aboutNewVersion(watched, served).map(named)];
    },
  };
}

/**
 * Alarms about the new version of a function: about its own requests, and about its errors in all
 * its time as a canary. With a tenth of the requests and half of the errors, it fails nine times as
 * often as the version before. A provider that is down fails both alike.
 * @see AWS SAM developer guide, "Deploying serverless applications gradually": the dimension
 *   ExecutedVersion
 */
function aboutNewVersion(
  { measurements, settings }: Watched,
  { key, lambda, access }: EndpointFunction,
): AlarmRow[] {
  const { functionName: name } = lambda;
  const { version } = lambda.currentVersion;
  const dimensionsMap = {
    FunctionName: name,
    Resource: `${name}:${liveAlias}`,
    ExecutedVersion: version,
  };
  const { serverErrorsOf, total } = measurements;
  const errors = sum('Errors', {
    failed: serverErrorsOf({ function: name, version, event: 'request_failed' }),
    // Crashes and timeouts, which no log line tells of.
    crashed: lambda.metricErrors({ ...perMinute, dimensionsMap }),
  });
  const invocations = lambda.metricInvocations({ ...perMinute, dimensionsMap });
  const period = Duration.minutes(settings.canaryMinutes);
  const ofFunction = serverErrorsOf({ function: name }, period);
  // Versions of 1.0.0 count the failures of providers, but not their own 5xx.
  const providers = total('ProviderFailures').with({ period });
  const ofAll = formula(
    'All 5xx',
    'MAX([FILL(counted, 0), FILL(providers, 0)])',
    { counted: ofFunction, providers },
    period,
  );
  const share = rate(
    'The new version of all 5xx',
    serverErrorsOf({ function: name, version }, period),
    access.secrets?.includes('provider-settings') ? ofAll : ofFunction,
    fewestOfVersion,
    period,
  );
  const failing = rate('Errors', errors, invocations, fewestOfVersion);
  return [
    [`NewVersionErrorsOf${pascal(key)}`, failing, 5, [2, 3]],
    [`NewVersionWorseOf${pascal(key)}`, share, 50],
  ];
}

/**
 * Alarms about single routes: the shares of their requests that the access log counts under a
 * metric.
 */
function aboutRoutes({ measurements, settings, functions }: Watched): AlarmRow[] {
  const { alarmFewest, alarmErrorPercent, alarmThrottledPercent } = settings;
  const share =
    (
      name: string,
      label: string,
      metricName: RouteMetric,
      fewest: number,
      minutes: number,
      least: number,
    ) =>
    ({ key, access, lambda }: EndpointFunction): AlarmRow => {
      const period = Duration.minutes(minutes);
      const part = measurements.ofRoute(metricName, access.route, period);
      const metric = rate(label, part, lambda.metricInvocations({ period }), fewest, period);
      return [`${name}${pascal(key)}`, metric, least];
    };
  // The share of all requests hides a route that few use: its own errors are counted over a longer
  // time.
  const failing = share(
    'ServerErrorsOf',
    '5xx',
    'RouteServerErrors',
    alarmFewest,
    15,
    alarmErrorPercent,
  );
  const throttled = share('ThrottledAt', '429', 'RouteThrottles', 20, 5, alarmThrottledPercent);
  return [
    ...functions.map(failing),
    ...functions.filter(({ key }) => throttles.has(key)).map(throttled),
  ];
}

function aboutService({ measurements, settings, rotations, finishing }: Watched): AlarmRow[] {
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
  const refusedShare = formula(
    'Refused public clients, per cent',
    'IF(refused >= 100, 100 * refused / (refused + FILL(issued, 0)), 0)',
    { refused: total('PublicClientsRefused'), issued: total('TokensIssued') },
  );
  // Among fewer than twenty requests, one cold start would set the alarm off.
  const enough = { requests, latency: measurements.latency(cloudwatch.Stats.p(99)) };
  const latency = formula('Latency, ms', 'IF(requests >= 20, latency, 0)', enough);
  const throttles = rate('Throttled invocations', ofFunctions('Throttles'), invocations, fewest);
  const units = sum('Units', { consumedReads, consumedWrites });
  const tableThrottles = rate('Table throttles', measurements.tableThrottles, units, fewest);
  const calls = total('ProviderLatency', cloudwatch.Stats.SAMPLE_COUNT);
  const failedCalls = sum('Failed calls', {
    failed: total('ProviderFailures'),
    undecided: total('ProvidersWithoutVerdict'),
  });
  const providerFailures = rate('Provider failures', failedCalls, calls, fewest);
  const loginHook: AlarmRow = [
    'LoginHookFailed',
    loginHookFailures(measurements),
    settings.alarmProviderFailurePercent,
  ];
  // It runs every minute, and tries a deletion that failed again after ten.
  const period = Duration.minutes(10);
  const missed = formula(
    'Missed invocation',
    'IF(FILL(invocations, 0) < 1, 1, 0)',
    { invocations: finishing.metricInvocations({ period }) },
    period,
  );
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
    ['WorkUnfinished', finishing.metricErrors({ period }), 1, [2, 3]],
    ['ScheduleStopped', missed, 1, [2, 2]],
  ];
}

/**
 * The share of the calls of the login hook that failed. Two within five minutes count already:
 * where few people log in, more would take too long, and nobody gets in.
 */
function loginHookFailures({ total }: Measurements): cloudwatch.IMetric {
  const period = Duration.minutes(5);
  const failures = total('LoginHookFailures').with({ period });
  const calls = total('LoginHookLatency', cloudwatch.Stats.SAMPLE_COUNT).with({ period });
  return rate('Login hook failures', failures, calls, 2, period);
}

/** Alarms about audit lines, and about published events if there are any. */
function aboutEvents({ measurements, audit, publishing }: Watched): AlarmRow[] {
  const auditFailures = sum('Audit failures', {
    failed: audit.forwarder.metricErrors(perMinute),
    waiting: audit.undelivered.metricApproximateNumberOfMessagesVisible(perMinute),
  });
  const ofAudit: AlarmRow = ['AuditFailure', auditFailures, 1, onceOfSum];
  if (!publishing) return [ofAudit];
  const { publisher, deadLetters } = publishing;
  const period = Duration.minutes(15);
  // Each login publishes something. The metrics of what is read from the stream cost more.
  const logins = (grant_type: string) =>
    measurements.total('TokensIssued').with({ dimensionsMap: { grant_type }, period });
  const unpublished = formula(
    'Unpublished logins',
    'IF(FILL(invocations, 0) < 1, FILL(tokens, 0) + FILL(codes, 0), 0)',
    {
      invocations: publisher.metricInvocations({ period }),
      tokens: logins('provider_credentials'),
      codes: logins('provider_authorization_code'),
    },
    period,
  );
  const delay = publisher.metric('IteratorAge', {
    ...perMinute,
    statistic: cloudwatch.Stats.MAXIMUM,
  });
  return [
    ofAudit,
    ['EventsDelayed', delay, 15 * 60_000, [3, 5]],
    ['EventsStopped', unpublished, 1, [2, 4]],
    ['EventsUndeliverable', deadLetters.metricApproximateNumberOfMessagesVisible(perMinute), 1],
  ];
}

function errorsOf(lambdas: IFunction[]): cloudwatch.IMetric {
  const metrics = lambdas.map((lambda, index) => [
    `errors${index}`,
    lambda.metricErrors(perMinute),
  ]);
  return sum('Errors', Object.fromEntries(metrics));
}
