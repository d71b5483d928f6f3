import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { routeKeyOf } from '../../infra/endpoints.ts';
import { logicalIdOf } from '../../infra/stack/service-function.ts';
import { metrics } from '../../lib/log/metrics.ts';
import { endpoints, named, readable, resources, template, templateWith, text } from '../support/template.ts';

const dimensions = v.optional(v.array(v.object({ Name: v.string(), Value: v.unknown() })), []);
/** A metric, and how its values of a period become one. */
const measured = v.object({
  Metric: v.object({ Namespace: v.string(), MetricName: v.string(), Dimensions: dimensions }),
  Period: v.number(),
  Stat: v.string(),
});
const alarms = resources(
  'AWS::CloudWatch::Alarm',
  v.object({
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
  }),
);

/** `Sum of AWS/Lambda Errors, FunctionName=ForwardAudit, in 60 s` */
const inWords = ({ Metric, Period, Stat }: v.InferOutput<typeof measured>): string =>
  [
    `${Stat} of ${Metric.Namespace} ${Metric.MetricName}`,
    ...Metric.Dimensions.map(({ Name, Value }) => `${Name}=${readable(Value)}`),
    `in ${Period} s`,
  ].join(', ');

/** What an alarm measures: a metric, or an expression and the metrics in it. */
const measurementsOf = ({ Metrics, ...alarm }: (typeof alarms)[number]['properties']): string[] =>
  Metrics?.map(({ Id, Expression, MetricStat }) =>
    MetricStat ? `${Id}: ${inWords(MetricStat)}` : String(Expression),
  ) ?? [
    inWords(v.parse(measured, { ...alarm, Metric: alarm, Stat: alarm.Statistic ?? alarm.ExtendedStatistic })),
  ];
const dashboard = JSON.stringify(template.findResources('AWS::CloudWatch::Dashboard'));

describe('alarms', () => {
  test.each<[string, string, string[]]>([
    [
      'ServerErrors',
      '2 of 3 from 1',
      [
        'IF(failed >= 5, 100 * failed / all, 0)',
        'failed: Sum of AWS/ApiGateway 5xx, ApiId=ApiHttp, in 60 s',
        'all: Sum of AWS/ApiGateway Count, ApiId=ApiHttp, in 60 s',
      ],
    ],
    ['Latency', '5 of 5 from 3000', ['p99 of AWS/ApiGateway Latency, ApiId=ApiHttp, in 60 s']],
    ['FunctionThrottles', '2 of 5 from 1', ['Sum of AWS/Lambda Throttles, in 60 s']],
    [
      'TableThrottles',
      '2 of 5 from 1',
      [
        'FILL(reads, 0) + FILL(writes, 0) + FILL(reads_by_list, 0) + FILL(writes_by_list, 0) + FILL(reads_by_shard, 0) + FILL(writes_by_shard, 0)',
        'reads: Sum of AWS/DynamoDB ReadThrottleEvents, TableName=Table, in 60 s',
        'writes: Sum of AWS/DynamoDB WriteThrottleEvents, TableName=Table, in 60 s',
        'reads_by_list: Sum of AWS/DynamoDB ReadThrottleEvents, GlobalSecondaryIndexName=by_list, TableName=Table, in 60 s',
        'writes_by_list: Sum of AWS/DynamoDB WriteThrottleEvents, GlobalSecondaryIndexName=by_list, TableName=Table, in 60 s',
        'reads_by_shard: Sum of AWS/DynamoDB ReadThrottleEvents, GlobalSecondaryIndexName=by_shard, TableName=Table, in 60 s',
        'writes_by_shard: Sum of AWS/DynamoDB WriteThrottleEvents, GlobalSecondaryIndexName=by_shard, TableName=Table, in 60 s',
      ],
    ],
    ['ProviderFailures', '3 of 5 from 5', ['Sum of a-stack ProviderFailures, in 60 s']],
    ['StaleSecrets', '2 of 5 from 1', ['Sum of a-stack StaleSecrets, in 60 s']],
    ['RefreshTokensReused', '1 of 1 from 5', ['Sum of a-stack RefreshTokensReused, in 60 s']],
    [
      'RefreshTokensRepeated',
      '3 of 5 from 10',
      [
        'IF(repeated >= 20, 100 * repeated / refreshed, 0)',
        'repeated: Sum of a-stack RefreshTokensRepeated, in 60 s',
        'refreshed: Sum of a-stack TokensIssued, grant_type=refresh_token, in 60 s',
      ],
    ],
    [
      'WrongSecrets',
      '3 of 5 from 100',
      [
        'FILL(tokens, 0) + FILL(others, 0)',
        'tokens: Sum of a-stack TokensRefused, reason=secret_wrong, in 60 s',
        'others: Sum of a-stack RequestsRefused, reason=secret_wrong, in 60 s',
      ],
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
        'errors0: Sum of AWS/Lambda Errors, FunctionName=RotateSigningKeys, in 60 s',
        'errors1: Sum of AWS/Lambda Errors, FunctionName=RotateServiceSecrets, in 60 s',
      ],
    ],
    [
      'DeletionsUnfinished',
      '1 of 1 from 1',
      ['FILL(errors0, 0)', 'errors0: Sum of AWS/Lambda Errors, FunctionName=FinishDeletions, in 60 s'],
    ],
    ...[...endpoints].map(([key, endpoint]): [string, string, string[]] => [
      `ServerErrorsOf${logicalIdOf(key)}`,
      '1 of 1 from 5',
      [`Sum of a-stack RouteServerErrors, route=${routeKeyOf(endpoint)}, in 900 s`],
    ]),
    [
      'AuditFailure',
      '1 of 1 from 1',
      [
        'FILL(failed, 0) + FILL(waiting, 0)',
        'failed: Sum of AWS/Lambda Errors, FunctionName=ForwardAudit, in 60 s',
        'waiting: Maximum of AWS/SQS ApproximateNumberOfMessagesVisible, QueueName=AuditUndelivered, in 60 s',
      ],
    ],
    [
      'EventsDelayed',
      '3 of 5 from 900000',
      ['Maximum of AWS/Lambda IteratorAge, FunctionName=PublishEvents, in 60 s'],
    ],
    [
      'EventsUndeliverable',
      '1 of 1 from 1',
      [
        'Maximum of AWS/SQS ApproximateNumberOfMessagesVisible, QueueName=EventPublishingDeadLetters, in 60 s',
      ],
    ],
  ])('%s: %s', (name, limit, measurements) => {
    const [alarm] = alarms
      .map(({ properties }) => properties)
      .filter(({ AlarmDescription }) => AlarmDescription.startsWith(`${name}:`));
    expect(alarm && measurementsOf(alarm)).toEqual(measurements);
    expect(`${alarm?.DatapointsToAlarm} of ${alarm?.EvaluationPeriods} from ${alarm?.Threshold}`).toBe(limit);
  });

  test('look where the functions write their metrics', () => {
    template.allResourcesProperties('AWS::Lambda::Function', {
      Environment: { Variables: { METRICS_NAMESPACE: 'a-stack' } },
    });
  });

  test('all notify the topic when they go off and when they end', () => {
    expect(alarms).toHaveLength(15 + endpoints.size);
    const [topic] = Object.keys(template.findResources('AWS::SNS::Topic'));
    for (const { properties } of alarms) {
      expect(properties).toMatchObject({
        AlarmActions: [{ Ref: topic }],
        OKActions: [{ Ref: topic }],
        TreatMissingData: 'notBreaching',
        ComparisonOperator: 'GreaterThanOrEqualToThreshold',
      });
    }
  });

  test('about single routes count the 5xx in the access log', () => {
    template.resourceCountIs('AWS::Logs::MetricFilter', 1);
    template.hasResourceProperties('AWS::Logs::MetricFilter', {
      FilterPattern: '{ $.status = "5*" }',
      LogGroupName: { Ref: Match.stringLikeRegexp('^ApiAccessLog') },
      MetricTransformations: [
        {
          Dimensions: [{ Key: 'route', Value: '$.route' }],
          MetricName: 'RouteServerErrors',
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
    templateWith({ alarmEmail: 'ops@example.com' }).hasResourceProperties('AWS::SNS::Subscription', {
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

describe('new code', () => {
  const live = 'AWS::Lambda::Alias';
  const canaryOff = templateWith({ canary: false });

  test('gets a tenth of the requests for five minutes, and is rolled back when the API returns 5xx', () => {
    const aliases = Object.values(template.findResources(live));
    const alarm = alarms.find(({ properties }) =>
      properties.AlarmDescription.startsWith('ServerErrors:'),
    )?.id;
    for (const alias of aliases) expect(alias.UpdatePolicy.CodeDeployLambdaAliasUpdate).toBeDefined();
    template.resourceCountIs('AWS::CodeDeploy::DeploymentGroup', aliases.length);
    template.allResourcesProperties('AWS::CodeDeploy::DeploymentGroup', {
      DeploymentConfigName: 'CodeDeployDefault.LambdaCanary10Percent5Minutes',
      AlarmConfiguration: { Alarms: [{ Name: { Ref: alarm } }], Enabled: true },
      AutoRollbackConfiguration: {
        Enabled: true,
        Events: Match.arrayWith(['DEPLOYMENT_FAILURE', 'DEPLOYMENT_STOP_ON_ALARM']),
      },
    });
  });

  test('of what issues, verifies and searches gets requests only after it has been tried', () => {
    const hooks = Object.entries(template.findResources(live)).flatMap(([id, { UpdatePolicy }]) => {
      const hook: unknown = UpdatePolicy.CodeDeployLambdaAliasUpdate.BeforeAllowTrafficHook;
      return hook === undefined ? [] : [[id, hook]];
    });
    const check = { Ref: 'CheckNewVersions' };
    expect(hooks.sort()).toEqual([
      ['IssueTokenLive', check],
      ['ListSigningKeysLive', check],
      ['SearchEventsLive', check],
    ]);
    // What it tries are the versions that are about to go live.
    const published = Object.keys(template.findResources('AWS::Lambda::Version'));
    const { Variables } = named('check-new-versions').Environment;
    for (const name of ['ISSUE_TOKEN_VERSION', 'LIST_SIGNING_KEYS_VERSION', 'SEARCH_EVENTS_VERSION'])
      expect(published).toContain(text(Variables[name]));
    canaryOff.resourcePropertiesCountIs('AWS::Lambda::Function', { Timeout: 60 }, 0);
  });

  test('goes live in spite of an alarm that is on, when the setting ignoreAlarms says so', () => {
    const fix = templateWith({ ignoreAlarms: true });
    fix.resourceCountIs('AWS::CodeDeploy::DeploymentGroup', endpoints.size);
    fix.allResourcesProperties('AWS::CodeDeploy::DeploymentGroup', {
      AlarmConfiguration: { Enabled: false },
    });
  });

  test('is in use at once without a canary', () => {
    for (const alias of Object.values(canaryOff.findResources(live)))
      expect(alias.UpdatePolicy).toBeUndefined();
    canaryOff.resourcePropertiesCountIs('AWS::CodeDeploy::DeploymentGroup', {}, 0);
    canaryOff.resourceCountIs('AWS::CodeDeploy::Application', 0);
  });

  test('of the token function has as many warm instances as are set, by default none', () => {
    const version = 'AWS::Lambda::Version';
    template.resourcePropertiesCountIs(version, { ProvisionedConcurrencyConfig: Match.anyValue() }, 0);
    const warm = templateWith({ tokenConcurrency: 5 });
    const provisioned = { ProvisionedConcurrencyConfig: { ProvisionedConcurrentExecutions: 5 } };
    warm.resourcePropertiesCountIs(version, provisioned, 1);
    warm.hasResourceProperties(version, { ...provisioned, FunctionName: { Ref: 'IssueToken' } });
  });

  test('of the token function has them in the version alone: Lambda rejects an alias that has them and shifts weights', () => {
    const warm = templateWith({ tokenConcurrency: 5 });
    warm.resourcePropertiesCountIs(live, { ProvisionedConcurrencyConfig: Match.anyValue() }, 0);
  });

  test('of the token function is published anew for another number of warm instances', () => {
    const publishedWith = (tokenConcurrency: number): unknown =>
      Object.entries(templateWith({ tokenConcurrency }).findResources('AWS::Lambda::Version'))
        .filter(([, { Properties }]) => Properties.FunctionName.Ref === 'IssueToken')
        .map(([id]) => id);
    expect(publishedWith(5)).not.toEqual(publishedWith(6));
    expect(publishedWith(5)).not.toEqual(publishedWith(0));
    const configured = (tokenConcurrency: number): unknown =>
      templateWith({ tokenConcurrency }).findResources('AWS::Lambda::Function').IssueToken?.Properties;
    expect(configured(5)).not.toEqual(configured(6));
  });

  test('goes live in groups of at most five, each after the one before, with the token function in the last', () => {
    const waiting = Object.entries(template.findResources(live)).map(([id, { DependsOn = [] }]) => ({
      id,
      after: [DependsOn].flat().filter((other) => /Live$/.test(other)),
    }));
    const groups = Map.groupBy(waiting, ({ after }) => after.toSorted().join());
    const first = waiting.filter(({ after }) => after.length === 0).map(({ id }) => id);
    const order = [first];
    for (let group = first; group.length > 0; ) {
      group = (groups.get(group.toSorted().join()) ?? []).map(({ id }) => id);
      if (group.length > 0) order.push(group);
    }
    expect(order.flat().sort()).toEqual(waiting.map(({ id }) => id).sort());
    for (const group of order) expect(group.length).toBeLessThanOrEqual(5);
    expect(order.at(-1)).toContain('IssueTokenLive');
  });
});
