import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { routeKeyOf } from '../../infra/endpoints.ts';
import { logicalIdOf } from '../../infra/stack/service-function.ts';
import { metrics } from '../../lib/log/metrics.ts';
import {
  endpoints,
  everything,
  readable,
  resources,
  template,
  templateWith,
  watching,
  watchingWith,
} from '../support/template.ts';

const dimensions = v.optional(v.array(v.object({ Name: v.string(), Value: v.unknown() })), []);
/** A metric, and how its values of a period become one. */
const measured = v.object({
  Metric: v.object({ Namespace: v.string(), MetricName: v.string(), Dimensions: dimensions }),
  Period: v.number(),
  Stat: v.string(),
});
const alarmSchema = v.object({
  AlarmDescription: v.string(),
  Threshold: v.number(),
  ComparisonOperator: v.string(),
  DatapointsToAlarm: v.number(),
  EvaluationPeriods: v.number(),
  TreatMissingData: v.string(),
  AlarmActions: v.array(v.unknown()),
  OKActions: v.array(v.unknown()),
  Namespace: v.optional(v.string()),
  MetricName: v.optional(v.string()),
  Dimensions: dimensions,
  Period: v.optional(v.number()),
  Statistic: v.optional(v.string()),
  ExtendedStatistic: v.optional(v.string()),
  Metrics: v.optional(
    v.array(
      v.object({ Id: v.string(), Expression: v.optional(v.string()), MetricStat: v.optional(measured) }),
    ),
  ),
});
const alarmsIn = (of: typeof watching) => resources('AWS::CloudWatch::Alarm', alarmSchema, of);
const alarms = alarmsIn(watching);
const alarmNamed = (name: string) =>
  alarms
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
    inWords(v.parse(measured, { ...alarm, Metric: alarm, Stat: alarm.Statistic ?? alarm.ExtendedStatistic })),
  ];
const dashboard = JSON.stringify(watching.findResources('AWS::CloudWatch::Dashboard'));

/** The share of a part in a whole, in per cent, where the part says enough. */
const share = (fewest: number, part: string[], whole: string[]): string[] => [
  `IF(part >= ${fewest}, 100 * part / MAX([part, FILL(whole, 0)]), 0)`,
  ...part,
  ...whole,
];
const requests = 'whole: Sum of AWS/ApiGateway Count, ApiId=ApiHttp, in 60 s';
const refreshes = 'whole: Sum of a-stack TokensIssued, grant_type=refresh_token, in 60 s';
const invocationsOf = (key: string, seconds: number): string =>
  `whole: Sum of AWS/Lambda Invocations, FunctionName=${key.replaceAll('-', '')}Function, in ${seconds} s`;
const throttled = ['describe-api', 'issue-token', 'link-identity', 'receive-notification', 'unlink-identity'];

/** Settings with other thresholds. */
const changedSettings = {
  alarmErrorPercent: 11,
  alarmLatencyMilliseconds: 12,
  alarmThrottledPercent: 13,
  alarmProviderFailurePercent: 14,
  alarmReusedPercent: 15,
  alarmRepeatedPercent: 16,
  alarmWrongSecretPercent: 17,
  alarmFewest: 18,
};

describe('alarms', () => {
  test.each<[string, string, string[]]>([
    [
      'ServerErrors',
      '2 of 3 from 1',
      share(5, ['part: Sum of AWS/ApiGateway 5xx, ApiId=ApiHttp, in 60 s'], [requests]),
    ],
    [
      'Latency',
      '5 of 5 from 3000',
      [
        'IF(requests >= 20, latency, 0)',
        'requests: Sum of AWS/ApiGateway Count, ApiId=ApiHttp, in 60 s',
        'latency: p99 of AWS/ApiGateway Latency, ApiId=ApiHttp, in 60 s',
      ],
    ],
    [
      'FunctionThrottles',
      '2 of 5 from 1',
      share(
        5,
        ['part: Sum of AWS/Lambda Throttles, in 60 s'],
        ['whole: Sum of AWS/Lambda Invocations, in 60 s'],
      ),
    ],
    [
      'TableThrottles',
      '2 of 5 from 1',
      share(
        5,
        [
          'FILL(reads, 0) + FILL(writes, 0) + FILL(reads_by_list, 0) + FILL(writes_by_list, 0) + FILL(reads_by_shard, 0) + FILL(writes_by_shard, 0)',
          'reads: Sum of AWS/DynamoDB ReadThrottleEvents, TableName=Table, in 60 s',
          'writes: Sum of AWS/DynamoDB WriteThrottleEvents, TableName=Table, in 60 s',
          'reads_by_list: Sum of AWS/DynamoDB ReadThrottleEvents, GlobalSecondaryIndexName=by_list, TableName=Table, in 60 s',
          'writes_by_list: Sum of AWS/DynamoDB WriteThrottleEvents, GlobalSecondaryIndexName=by_list, TableName=Table, in 60 s',
          'reads_by_shard: Sum of AWS/DynamoDB ReadThrottleEvents, GlobalSecondaryIndexName=by_shard, TableName=Table, in 60 s',
          'writes_by_shard: Sum of AWS/DynamoDB WriteThrottleEvents, GlobalSecondaryIndexName=by_shard, TableName=Table, in 60 s',
        ],
        [
          'FILL(consumedReads, 0) + FILL(consumedWrites, 0)',
          'consumedReads: Sum of AWS/DynamoDB ConsumedReadCapacityUnits, TableName=Table, in 60 s',
          'consumedWrites: Sum of AWS/DynamoDB ConsumedWriteCapacityUnits, TableName=Table, in 60 s',
        ],
      ),
    ],
    [
      'ProviderFailures',
      '3 of 5 from 2',
      share(
        5,
        ['part: Sum of a-stack ProviderFailures, in 60 s'],
        ['whole: SampleCount of a-stack ProviderLatency, in 60 s'],
      ),
    ],
    ['StaleSecrets', '2 of 5 from 1', ['Sum of a-stack StaleSecrets, in 60 s']],
    [
      'RefreshTokensReused',
      '1 of 1 from 1',
      share(5, ['part: Sum of a-stack RefreshTokensReused, in 60 s'], [refreshes]),
    ],
    [
      'RefreshTokensRepeated',
      '3 of 5 from 10',
      share(20, ['part: Sum of a-stack RefreshTokensRepeated, in 60 s'], [refreshes]),
    ],
    [
      'WrongSecrets',
      '3 of 5 from 1',
      share(
        100,
        [
          'FILL(tokens, 0) + FILL(others, 0)',
          'tokens: Sum of a-stack TokensRefused, reason=secret_wrong, in 60 s',
          'others: Sum of a-stack RequestsRefused, reason=secret_wrong, in 60 s',
        ],
        [requests],
      ),
    ],
    [
      'AccessRequestFull',
      '1 of 1 from 1',
      ['Sum of a-stack RequestsRefused, reason=access_request_full, in 60 s'],
    ],
    [
      'RotationFailure',
      '1 of 1 from 1',
      [
        'FILL(errors0, 0) + FILL(errors1, 0)',
        'errors0: Sum of AWS/Lambda Errors, FunctionName=rotatesigningkeysFunction, in 60 s',
        'errors1: Sum of AWS/Lambda Errors, FunctionName=rotateservicesecretsFunction, in 60 s',
      ],
    ],
    [
      'DeletionsUnfinished',
      '1 of 1 from 1',
      [
        'FILL(errors0, 0)',
        'errors0: Sum of AWS/Lambda Errors, FunctionName=finishdeletionsFunction, in 60 s',
      ],
    ],
    ...[...endpoints].map(([key, endpoint]): [string, string, string[]] => [
      `ServerErrorsOf${logicalIdOf(key)}`,
      '1 of 1 from 1',
      share(
        5,
        [`part: Sum of a-stack RouteServerErrors, route=${routeKeyOf(endpoint)}, in 900 s`],
        [invocationsOf(key, 900)],
      ),
    ]),
    ...[...endpoints]
      .filter(([key]) => throttled.includes(key))
      .map(([key, endpoint]): [string, string, string[]] => [
        `ThrottledAt${logicalIdOf(key)}`,
        '1 of 1 from 1',
        share(
          20,
          [`part: Sum of a-stack RouteThrottles, route=${routeKeyOf(endpoint)}, in 300 s`],
          [invocationsOf(key, 300)],
        ),
      ]),
    [
      'AuditFailure',
      '1 of 1 from 1',
      [
        'FILL(failed, 0) + FILL(waiting, 0)',
        'failed: Sum of AWS/Lambda Errors, FunctionName=forwardauditFunction, in 60 s',
        'waiting: Maximum of AWS/SQS ApproximateNumberOfMessagesVisible, QueueName=AuditUndelivered, in 60 s',
      ],
    ],
    [
      'EventsDelayed',
      '3 of 5 from 900000',
      ['Maximum of AWS/Lambda IteratorAge, FunctionName=publisheventsFunction, in 60 s'],
    ],
    [
      'EventsUndeliverable',
      '1 of 1 from 1',
      [
        'Maximum of AWS/SQS ApproximateNumberOfMessagesVisible, QueueName=EventPublishingDeadLetters, in 60 s',
      ],
    ],
  ])('%s: %s', (name, limit, measurements) => {
    const alarm = alarmNamed(name);
    expect(alarm && measurementsOf(alarm)).toEqual(measurements);
    expect(`${alarm?.DatapointsToAlarm} of ${alarm?.EvaluationPeriods} from ${alarm?.Threshold}`).toBe(limit);
  });

  test('have the thresholds that are set', () => {
    const changed = alarmsIn(watchingWith(changedSettings)).map(({ properties }) => properties);
    const thresholdOf = (name: string): unknown =>
      changed.find(({ AlarmDescription }) => AlarmDescription.startsWith(`${name}:`))?.Threshold;
    expect(
      [
        ...['ServerErrors', 'ServerErrorsOfIssueToken', 'Latency', 'FunctionThrottles', 'TableThrottles'],
        ...['ThrottledAtIssueToken', 'ProviderFailures', 'RefreshTokensReused', 'RefreshTokensRepeated'],
        ...['WrongSecrets', 'StaleSecrets'],
      ].map(thresholdOf),
    ).toEqual([11, 11, 12, 13, 13, 13, 14, 15, 16, 17, 1]);
    expect(changed.flatMap(measurementsOf).join()).not.toContain('part >= 5,');
    expect(changed.flatMap(measurementsOf).join()).toContain('part >= 18,');
  });

  test('look where the functions write their metrics', () => {
    template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: { METRICS_NAMESPACE: 'a-stack' } },
    });
  });

  test('all notify the topic when they go off and when they end', () => {
    expect(alarms).toHaveLength(15 + endpoints.size + throttled.length);
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
            SecretId: Object.keys(template.findResources('AWS::SecretsManager::Secret')).map((Ref) => ({
              Ref,
            })),
          },
        },
      },
      State: 'ENABLED',
      Targets: [Match.objectLike({ Arn: { Ref: topic } })],
    });
  });

  test('interrupted deletions are finished every ten minutes', () => {
    template.hasResourceProperties('AWS::Events::Rule', {
      ScheduleExpression: 'rate(10 minutes)',
      State: 'ENABLED',
      Targets: [Match.objectLike({ Arn: { 'Fn::GetAtt': ['FinishDeletions', 'Arn'] } })],
    });
  });

  test('of this account, and nobody else, may publish to the topic, over TLS', () => {
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: {
        Statement: [
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
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

  test('the topic writes to the address of the setting alarmEmail, and else to nobody', () => {
    template.resourceCountIs('AWS::SNS::Subscription', 0);
    templateWith(everything).hasResourceProperties('AWS::SNS::Subscription', {
      Protocol: 'email',
      Endpoint: 'ops@example.com',
    });
  });
});

describe('the dashboard', () => {
  test.each(Object.values(metrics).map(({ name }) => name))('shows %s', (name) => {
    expect(dashboard).toContain(name);
  });

  test('shows every alarm', () => {
    for (const { id } of alarms) expect(dashboard).toContain(id);
  });
});
