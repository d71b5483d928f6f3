import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { pascal, readFunctions } from '../../infra/endpoints.ts';
import { metrics } from '../../lib/log/metrics.ts';
import { everything, otherCanary } from '../support/deployments.ts';
import {
  readable,
  resources,
  template,
  templateWith,
  watching,
  watchingWith,
} from '../support/template.ts';

const { endpoints } = readFunctions();
/** The functions with a canary. */
const busy = [...endpoints].filter(([, { isBusy }]) => isBusy).map(([key]) => key);

const dimensions = v.optional(v.array(v.object({ Name: v.string(), Value: v.unknown() })), []);
/** A metric, and how its values of a period become one. */
const measured = v.object({
  Metric: v.object({ Namespace: v.string(), MetricName: v.string(), Dimensions: dimensions }),
  Period: v.number(),
  Stat: v.string(),
});
const alarmSchema = v.looseObject({
  AlarmDescription: v.string(),
  Threshold: v.number(),
  DatapointsToAlarm: v.number(),
  EvaluationPeriods: v.number(),
  Dimensions: dimensions,
  Metrics: v.optional(
    v.array(
      v.object({
        Id: v.string(),
        Expression: v.optional(v.string()),
        MetricStat: v.optional(measured),
      }),
    ),
  ),
});
const alarmsIn = (of: typeof watching) => resources('AWS::CloudWatch::Alarm', alarmSchema, of);
const all = alarmsIn(watching);
/** Alarms about a new version. Only CodeDeploy asks for their state. */
const ofVersions = all.filter(({ properties }) =>
  properties.AlarmDescription.startsWith('NewVersion'),
);
const alarms = all.filter((alarm) => !ofVersions.includes(alarm));
const alarmNamed = (name: string) =>
  all
    .map(({ properties }) => properties)
    .find(({ AlarmDescription }) => AlarmDescription.startsWith(`${name}:`));

/** `Sum of AWS/Lambda Errors, FunctionName=ForwardAudit, in 60 s` */
const inWords = ({ Metric, Period, Stat }: v.InferOutput<typeof measured>): string =>
  [
    `${Stat} of ${Metric.Namespace} ${Metric.MetricName}`,
    ...Metric.Dimensions.map(({ Name, Value }) => `${Name}=${readable(Value)}`),
    `in ${Period} s`,
  ].join(', ');

/** What an alarm measures: a metric, or an expression and the metrics in it. */
const measurementsOf = ({ Metrics, ...alarm }: v.InferOutput<typeof alarmSchema>): string[] =>
  Metrics?.map(({ Id, Expression, MetricStat }) =>
    MetricStat ? `${Id}: ${inWords(MetricStat)}` : String(Expression),
  ) ?? [
    inWords(
      v.parse(measured, {
        ...alarm,
        Metric: alarm,
        Stat: alarm.Statistic ?? alarm.ExtendedStatistic,
      }),
    ),
  ];

/**
 * The value of an alarm's expression in a period in which its metrics have these; those left out
 * are missing.
 * @see Amazon CloudWatch user guide, "Metric math syntax and functions"
 */
function calculated(
  { Metrics = [] }: v.InferOutput<typeof alarmSchema>,
  counts: Record<string, number>,
) {
  const scope: Record<string, unknown> = {
    IF: (condition: boolean, yes: number, no: number) => (condition ? yes : no),
    MAX: (values: number[]) => Math.max(...values),
    FILL: (value: number | undefined, filling: number) => value ?? filling,
  };
  // The outermost expression stands first.
  for (const { Id, Expression } of Metrics.toReversed()) {
    const body = `return ${Expression ?? `counts.${Id}`}`;
    scope[Id] = new Function('counts', ...Object.keys(scope), body)(
      counts,
      ...Object.values(scope),
    );
  }
  return v.parse(v.number(), scope[Metrics[0]?.Id ?? '']);
}

const dashboard = JSON.stringify(watching.findResources('AWS::CloudWatch::Dashboard'));

/** A metric of an alarm, under its name there. */
const sum = (id: string, metric: string, seconds = 60): string =>
  `${id}: Sum of ${metric}, in ${seconds} s`;
/** The sum of metrics, each of which may be missing. */
const added = (...metrics: string[]): string[] => [
  metrics.map((metric) => `FILL(${metric.split(':')[0]}, 0)`).join(' + '),
  ...metrics,
];
/** The share of a part in a whole, in per cent, where the part says enough. */
const share = (fewest: number, part: string | string[], whole: string | string[]): string[] => [
  `IF(part >= ${fewest}, 100 * part / MAX([part, FILL(whole, 0)]), 0)`,
  ...[part, whole].flat(),
];
const requests = sum('whole', 'AWS/ApiGateway Count, ApiId=ApiHttp');
const refreshes = sum('whole', 'a-stack TokensIssued, grant_type=refresh_token');
const inLambda = (metric: string, key: string): string =>
  `AWS/Lambda ${metric}, FunctionName=${key.replaceAll('-', '')}Function`;
const inTable = (metric: string, index?: string): string =>
  `AWS/DynamoDB ${metric}, ${index ? `GlobalSecondaryIndexName=${index}, ` : ''}TableName=Table`;
const waitingIn = (queue: string): string =>
  `Maximum of AWS/SQS ApproximateNumberOfMessagesVisible, QueueName=${queue}, in 60 s`;
const throttled = [
  'describe-api',
  'issue-nonce',
  'issue-token',
  'link-identity',
  'receive-notification',
  'unlink-identity',
];

/** Settings of thresholds, with the alarms that have them. */
const thresholds = {
  alarmErrorPercent: ['ServerErrors', 'ServerErrorsOfIssueToken'],
  alarmLatencyMilliseconds: ['Latency'],
  alarmThrottledPercent: ['FunctionThrottles', 'TableThrottles', 'ThrottledAtIssueToken'],
  alarmProviderFailurePercent: ['ProviderFailures'],
  alarmReusedPercent: ['RefreshTokensReused'],
  alarmRepeatedPercent: ['RefreshTokensRepeated'],
  alarmWrongSecretPercent: ['WrongSecrets'],
  alarmPublicRefusalPercent: ['PublicClientsRefused'],
};

describe('alarms', () => {
  const throttles = ['', 'by_list', 'by_shard'].flatMap((index) =>
    ['Read', 'Write'].map((kind) =>
      sum(`${kind.toLowerCase()}s${index && `_${index}`}`, inTable(`${kind}ThrottleEvents`, index)),
    ),
  );
  const consumed = ['Read', 'Write'].map((kind) =>
    sum(`consumed${kind}s`, inTable(`Consumed${kind}CapacityUnits`)),
  );
  const rotations = ['rotate-signing-keys', 'rotate-service-secrets'];
  const wrongSecrets = [
    'tokens: Sum of a-stack TokensRefused',
    'others: Sum of a-stack RequestsRefused',
  ];

  test.each<[string, string, string[]]>([
    [
      'ServerErrors',
      '2 of 3 from 1',
      share(
        5,
        [
          'all - FILL(providers, 0)',
          sum('all', 'AWS/ApiGateway 5xx, ApiId=ApiHttp'),
          sum('providers', 'a-stack ProviderFailures'),
        ],
        requests,
      ),
    ],
    [
      'Latency',
      '5 of 5 from 3000',
      [
        'IF(requests >= 20, latency, 0)',
        sum('requests', 'AWS/ApiGateway Count, ApiId=ApiHttp'),
        'latency: p99 of AWS/ApiGateway Latency, ApiId=ApiHttp, in 60 s',
      ],
    ],
    [
      'FunctionThrottles',
      '2 of 5 from 1',
      share(5, sum('part', 'AWS/Lambda Throttles'), sum('whole', 'AWS/Lambda Invocations')),
    ],
    ['TableThrottles', '2 of 5 from 1', share(5, added(...throttles), added(...consumed))],
    [
      'ProviderFailures',
      '3 of 5 from 2',
      share(
        5,
        added(
          sum('failed', 'a-stack ProviderFailures'),
          sum('undecided', 'a-stack ProvidersWithoutVerdict'),
        ),
        'whole: SampleCount of a-stack ProviderLatency, in 60 s',
      ),
    ],
    ['ProviderStreamUpdated', '1 of 1 from 1', ['Sum of a-stack ProviderStreamsUpdated, in 60 s']],
    ['StaleSecrets', '2 of 5 from 1', ['Sum of a-stack StaleSecrets, in 60 s']],
    [
      'RefreshTokensReused',
      '1 of 1 from 1',
      share(5, sum('part', 'a-stack RefreshTokensReused'), refreshes),
    ],
    [
      'RefreshTokensRepeated',
      '3 of 5 from 10',
      share(20, sum('part', 'a-stack RefreshTokensRepeated'), refreshes),
    ],
    [
      'PublicClientsRefused',
      '3 of 5 from 20',
      [
        'IF(refused >= 100, 100 * refused / (refused + FILL(issued, 0)), 0)',
        sum('refused', 'a-stack PublicClientsRefused'),
        sum('issued', 'a-stack TokensIssued'),
      ],
    ],
    [
      'WrongSecrets',
      '3 of 5 from 1',
      share(
        100,
        added(...wrongSecrets.map((one) => `${one}, reason=secret_wrong, in 60 s`)),
        requests,
      ),
    ],
    [
      'AccessRequestFull',
      '1 of 1 from 1',
      ['Sum of a-stack RequestsRefused, reason=access_request_full, in 60 s'],
    ],
    [
      'RotationFailure',
      '1 of 5 from 1',
      added(...rotations.map((key, place) => sum(`errors${place}`, inLambda('Errors', key)))),
    ],
    [
      'WorkUnfinished',
      '2 of 3 from 1',
      [`Sum of ${inLambda('Errors', 'finish-deletions')}, in 600 s`],
    ],
    ...[...endpoints].map(([key, endpoint]): [string, string, string[]] => [
      `ServerErrorsOf${pascal(key)}`,
      '1 of 1 from 1',
      share(
        5,
        sum('part', `a-stack RouteServerErrors, route=${endpoint.route}`, 900),
        sum('whole', inLambda('Invocations', key), 900),
      ),
    ]),
    ...[...endpoints]
      .filter(([key]) => throttled.includes(key))
      .map(([key, endpoint]): [string, string, string[]] => [
        `ThrottledAt${pascal(key)}`,
        '1 of 1 from 1',
        share(
          20,
          sum('part', `a-stack RouteThrottles, route=${endpoint.route}`, 300),
          sum('whole', inLambda('Invocations', key), 300),
        ),
      ]),
    ...busy.flatMap((key): [string, string, string[]][] => {
      const lambda = `${key.replaceAll('-', '')}Function`;
      const version = `${lambda}CurrentVersion`;
      const executed = `ExecutedVersion=${version}, FunctionName=${lambda}, Resource=${lambda}:live`;
      return [
        [
          `NewVersionErrorsOf${pascal(key)}`,
          '2 of 3 from 5',
          share(
            5,
            added(
              sum(
                'failed',
                `a-stack ServerErrors, event=request_failed, function=${lambda}, version=${version}`,
              ),
              sum('crashed', `AWS/Lambda Errors, ${executed}`),
            ),
            sum('whole', `AWS/Lambda Invocations, ${executed}`),
          ),
        ],
        [
          `NewVersionWorseOf${pascal(key)}`,
          '1 of 1 from 50',
          share(
            5,
            sum('part', `a-stack ServerErrors, function=${lambda}, version=${version}`, 900),
            key === 'issue-token'
              ? [
                  'MAX([FILL(counted, 0), FILL(providers, 0)])',
                  sum('counted', `a-stack ServerErrors, function=${lambda}`, 900),
                  sum('providers', 'a-stack ProviderFailures', 900),
                ]
              : sum('whole', `a-stack ServerErrors, function=${lambda}`, 900),
          ),
        ],
      ];
    }),
    [
      'AuditFailure',
      '1 of 5 from 1',
      added(
        sum('failed', inLambda('Errors', 'forward-audit')),
        `waiting: ${waitingIn('AuditUndelivered')}`,
      ),
    ],
    [
      'EventsDelayed',
      '3 of 5 from 900000',
      [`Maximum of ${inLambda('IteratorAge', 'publish-events')}, in 60 s`],
    ],
    // Neither a disabled event source mapping nor a disabled rule has a metric.
    [
      'EventsStopped',
      '2 of 4 from 1',
      [
        'IF(FILL(invocations, 0) < 1, FILL(tokens, 0) + FILL(codes, 0), 0)',
        sum('invocations', inLambda('Invocations', 'publish-events'), 900),
        sum('tokens', 'a-stack TokensIssued, grant_type=provider_credentials', 900),
        sum('codes', 'a-stack TokensIssued, grant_type=provider_authorization_code', 900),
      ],
    ],
    [
      'ScheduleStopped',
      '2 of 2 from 1',
      [
        'IF(FILL(invocations, 0) < 1, 1, 0)',
        sum('invocations', inLambda('Invocations', 'finish-deletions'), 600),
      ],
    ],
    ['EventsUndeliverable', '1 of 1 from 1', [waitingIn('EventPublishingDeadLetters')]],
  ])('%s: %s', (name, limit, measurements) => {
    const alarm = alarmNamed(name);
    expect(alarm && measurementsOf(alarm)).toEqual(measurements);
    expect(
      `${alarm?.DatapointsToAlarm} of ${alarm?.EvaluationPeriods} from ${alarm?.Threshold}`,
    ).toBe(limit);
  });

  test('LoginHookFailed is about the share of the hook’s calls, and only there with a hook', async () => {
    expect(alarmNamed('LoginHookFailed')).toBeUndefined();
    const withHook = alarmsIn(await watchingWith({ loginHook: 'login-hook:live' }));
    const [alarm] = withHook
      .map(({ properties }) => properties)
      .filter(({ AlarmDescription }) => AlarmDescription.startsWith('LoginHookFailed:'));
    if (!alarm) throw new Error('There is no alarm about the hook.');
    expect(measurementsOf(alarm)).toEqual(
      share(
        2,
        sum('part', 'a-stack LoginHookFailures', 300),
        'whole: SampleCount of a-stack LoginHookLatency, in 300 s',
      ),
    );
    expect([alarm.EvaluationPeriods, alarm.Threshold]).toEqual([1, 2]);
    // A failure of a busy hook, and the only two logins of a quiet evening.
    expect(calculated(alarm, { part: 1, whole: 3000 })).toBe(0);
    expect(calculated(alarm, { part: 20, whole: 3000 })).toBeLessThan(alarm.Threshold);
    expect(calculated(alarm, { part: 2, whole: 2 })).toBe(100);
  });

  // CloudWatch publishes a metric with a delay, so the latest point of such an expression is always
  // what it was filled with. @see Amazon CloudWatch user guide, "Using math expressions with
  // CloudWatch metrics": FILL
  test('look at more than one period where the expression has a value without any metric', () => {
    const filled = all.flatMap(
      ({ properties: { AlarmDescription, EvaluationPeriods, Metrics = [] } }) => {
        const expressions = new Map(Metrics.map(({ Id, Expression }) => [Id, Expression]));
        /**
         * Whether a metric of the alarm, or an expression, has a value while nothing is published.
         */
        const isFilled = (id: string): boolean => {
          const outside = expressions.get(id)?.replace(/FILL\(\w+, 0\)/g, '0');
          return outside?.match(/\b[a-z]\w*/g)?.every(isFilled) ?? outside !== undefined;
        };
        const [{ Id } = { Id: '' }] = Metrics;
        return isFilled(Id) ? [{ AlarmDescription, EvaluationPeriods }] : [];
      },
    );
    expect(filled).not.toEqual([]);
    expect(filled.filter(({ EvaluationPeriods }) => EvaluationPeriods < 2)).toEqual([]);
  });

  test('have the thresholds that are set', async () => {
    const changed = Object.fromEntries(
      Object.keys(thresholds).map((name, place) => [name, 11 + place]),
    );
    const settings = { ...changed, alarmFewest: 30, canary: false };
    const alarms = alarmsIn(await watchingWith(settings)).map(({ properties }) => properties);
    const thresholdOf = (name: string) =>
      alarms.find(({ AlarmDescription }) => AlarmDescription.startsWith(`${name}:`))?.Threshold;
    for (const [name, about] of Object.entries(thresholds))
      expect(about.map(thresholdOf)).toEqual(about.map(() => changed[name]));
    const measurements = alarms.flatMap(measurementsOf).join();
    expect(measurements).not.toContain('part >= 5,');
    expect(measurements).toContain('part >= 30,');
  });

  test('look where the functions write their metrics', () => {
    template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: { METRICS_NAMESPACE: 'a-stack' } },
    });
  });

  test('all notify the topic when they go off and when they end', () => {
    expect(alarms).toHaveLength(19 + endpoints.size + throttled.length);
    const [topic] = Object.keys(watching.toJSON().Parameters);
    expect(topic).toMatch(/AlarmsTopic/);
    for (const { properties } of alarms) {
      expect(properties).toMatchObject({
        AlarmActions: [{ Ref: topic }],
        OKActions: [{ Ref: topic }],
        TreatMissingData: 'notBreaching',
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      });
    }
  });

  test('about a new version tell nobody, and each version has its own, so that none is on when its fix is deployed', () => {
    expect(ofVersions).toHaveLength(2 * busy.length);
    for (const { properties } of ofVersions) {
      expect(properties.AlarmActions ?? properties.OKActions).toBeUndefined();
      expect(properties.TreatMissingData).toBe('notBreaching');
      const [name] = properties.AlarmDescription.split(':');
      expect(readable(properties.AlarmName)).toMatch(
        new RegExp(`^a-stack-${name}-referencetoastack\\w+CurrentVersion[0-9A-F]{8}Version$`),
      );
    }
  });

  test.each([
    ['five of a hundred', 'ErrorsOf', { failed: 5, whole: 100 }, true],
    ['five crashes of a hundred', 'ErrorsOf', { crashed: 5, whole: 100 }, true],
    ['all five of both kinds', 'ErrorsOf', { failed: 3, crashed: 2, whole: 5 }, true],
    ['fewer than five in a hundred', 'ErrorsOf', { failed: 5, whole: 101 }, false],
    ['four, which could be chance', 'ErrorsOf', { failed: 4, whole: 4 }, false],
    [
      'one provider fails in the new version alone',
      'WorseOf',
      { part: 5, counted: 5, providers: 5 },
      true,
    ],
    [
      'it fails as often as the version before, with a ninth of its requests',
      'WorseOf',
      { part: 5, counted: 10 },
      true,
    ],
    ['a provider is down for both', 'WorseOf', { part: 5, counted: 50, providers: 50 }, false],
    [
      'a provider is down for it and for 1.0.0, which does not count its own 5xx',
      'WorseOf',
      { part: 5, counted: 5, providers: 50 },
      false,
    ],
    ['four failures, which could be chance', 'WorseOf', { part: 4, counted: 4 }, false],
  ])('about a new version: %s, for NewVersion%s', (_, name, counts, goesOff) => {
    const alarm = alarmNamed(`NewVersion${name}IssueToken`);
    expect(alarm && calculated(alarm, counts) >= alarm.Threshold).toBe(goesOff);
  });

  test.each([
    ['a provider that is down', { all: 900, providers: 900, whole: 10_000 }, false],
    ['a provider that is down, and a fault of ours', { all: 1000, providers: 900 }, true],
    ['a fault of ours', { all: 100 }, true],
  ])('about all requests go off for %s: %j', (_, counts, goesOff) => {
    const alarm = alarmNamed('ServerErrors');
    const value = alarm && calculated(alarm, { whole: 10_000, ...counts });
    expect((value ?? NaN) >= (alarm?.Threshold ?? NaN)).toBe(goesOff);
  });

  test('compare a new version for as long as it is a canary', async () => {
    const longer = JSON.stringify(alarmsIn(await watchingWith(otherCanary)));
    // That of the token function reads the failures of providers, too.
    expect(longer.match(/"Period":1800/g)).toHaveLength(2 * busy.length + 1);
  });

  test.each([
    ['5*', 'RouteServerErrors'],
    ['429', 'RouteThrottles'],
  ])('about single routes count the %s in the access log', (status, MetricName) => {
    template.resourceCountIs('AWS::Logs::MetricFilter', 2);
    template.hasResourceProperties('AWS::Logs::MetricFilter', {
      FilterPattern: `{ $.status = "${status}" }`,
      LogGroupName: { Ref: Match.stringLikeRegexp('^ApiAccessLog') },
      MetricTransformations: [
        {
          Dimensions: [{ Key: 'route', Value: '$.route' }],
          MetricName,
          MetricNamespace: 'a-stack',
          MetricValue: '1',
        },
      ],
    });
  });

  test('a rotation that failed is told to the topic, also when the function was never invoked', () => {
    const [topic] = Object.keys(template.findResources('AWS::SNS::Topic'));
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: {
        source: ['aws.secretsmanager'],
        'detail-type': ['AWS Service Event via CloudTrail'],
        detail: {
          eventName: ['RotationFailed'],
          additionalEventData: {
            SecretId: Object.keys(template.findResources('AWS::SecretsManager::Secret')).map(
              (Ref) => ({
                Ref,
              }),
            ),
          },
        },
      },
      State: 'ENABLED',
      Targets: [Match.objectLike({ Arn: { Ref: topic } })],
    });
  });

  test('every minute, deletions are finished and expiries stored', () => {
    template.hasResourceProperties('AWS::Events::Rule', {
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Targets: [Match.objectLike({ Arn: { 'Fn::GetAtt': ['FinishDeletions', 'Arn'] } })],
    });
  });

  test('of this account, and nobody else, may publish to the topic, over TLS', () => {
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: [
          Match.objectLike({
            Effect: 'Deny',
            Condition: { Bool: { 'aws:SecureTransport': 'false' } },
          }),
          {
            Effect: 'Allow',
            Action: 'sns:Publish',
            Principal: { Service: 'cloudwatch.amazonaws.com' },
            Resource: Match.anyValue(),
            Condition: { StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } } },
          },
          Match.objectLike({ Effect: 'Allow', Principal: { Service: 'events.amazonaws.com' } }),
        ],
      },
    });
  });

  test('the topic writes to the address of the setting alarmEmail, and else to nobody', async () => {
    template.resourceCountIs('AWS::SNS::Subscription', 0);
    (await templateWith(everything)).hasResourceProperties('AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'ops@example.com',
    });
  });
});

describe('the dashboard', () => {
  test.each([...new Set(metrics.map(({ name }) => name))])('shows %s', (name) => {
    expect(dashboard).toContain(name);
  });

  test('shows every alarm', () => {
    for (const { id } of alarms) expect(dashboard).toContain(id);
  });
});
