import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import keyPolicy from '../../docs/policies/kms-key.json' with { type: 'json' };
import { version } from '../../infra/version.ts';
import { streamFilter } from '../../lib/publishing/stream-filter.ts';
import { table } from '../../lib/storage/table.ts';
import { everything, withKey, withoutCanary } from '../support/deployments.ts';
import { functions, named, resources, template, templateWith } from '../support/template.ts';

describe('the table', () => {
  test('is on demand, encrypted, recoverable and protected, and outlives the stack', () => {
    template.allResourcesProperties('AWS::DynamoDB::Table', {
      BillingMode: 'PAY_PER_REQUEST',
      SSESpecification: { SSEEnabled: true },
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      DeletionProtectionEnabled: true,
      StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
      TimeToLiveSpecification: { AttributeName: 'expires_at', Enabled: true },
    });
    template.allResources('AWS::DynamoDB::Table', {
      DeletionPolicy: 'Retain',
      UpdateReplacePolicy: 'Retain',
    });
    template.resourceCountIs('AWS::DynamoDB::Table', 1);
  });

  test('has the keys and indexes that the service is written for', () => {
    const key = (partition: string, sort: string) => [
      { AttributeName: partition, KeyType: 'HASH' },
      { AttributeName: sort, KeyType: 'RANGE' },
    ];
    const index = (
      IndexName: string,
      KeySchema: ReturnType<typeof key>,
      ProjectionType: string,
    ) => ({
      IndexName,
      KeySchema,
      Projection: { ProjectionType },
    });
    template.hasResourceProperties('AWS::DynamoDB::Table', {
      KeySchema: key('pk', 'sk'),
      LocalSecondaryIndexes: Object.entries(table.localIndexes).map(
        ([name, { sortKey, projection }]) => index(name, key('pk', sortKey), projection),
      ),
      GlobalSecondaryIndexes: [
        index('by_list', key('list', 'list_position'), 'KEYS_ONLY'),
        index('by_shard', key('shard', 'shard_position'), 'ALL'),
      ],
    });
  });
});

const tokenAlgorithm = 'ES256';
const replicaRegions = 'eu-west-1,us-gov-west-1';
const changed = await templateWith({
  warmWriteUnits: '8000',
  archiveDays: '30',
  tokenAlgorithm,
  replicaRegions,
});

test('the table is warm for as much as is set, and else as new tables are', () => {
  template.allResourcesProperties('AWS::DynamoDB::Table', { WarmThroughput: Match.absent() });
  changed.hasResourceProperties('AWS::DynamoDB::Table', {
    WarmThroughput: { WriteUnitsPerSecond: 8000 },
  });
});

test('the table takes at most as many writes as is set, and else as many as come', async () => {
  template.allResourcesProperties('AWS::DynamoDB::Table', { OnDemandThroughput: Match.absent() });
  (await templateWith(everything)).hasResourceProperties('AWS::DynamoDB::Table', {
    OnDemandThroughput: { MaxWriteRequestUnits: everything.maxWriteUnits },
  });
});

test('no other function is updated before the new code has found that it can read the table', () => {
  const { checks, records } = formatSteps(template);
  expect(checks).toHaveLength(1);
  const functions = resources('AWS::Lambda::Function', v.unknown()).map(({ id }) => id);
  for (const id of functions.filter((id) => id !== 'GuardTableFormat'))
    expect(template.toJSON().Resources[id].DependsOn).toContain(checks[0]?.id);
  expect(records.map(({ DependsOn }) => DependsOn)).toEqual([
    Object.keys(template.findResources('AWS::Lambda::Alias')).toSorted(),
  ]);
});

test('without a canary, the format is checked and noted all the same, and again for another table', async () => {
  const steps = formatSteps(await templateWith(withoutCanary));
  for (const [step] of Object.values(steps))
    expect(step?.Properties.TableName).toBe(withoutCanary.tableName);
});

/** The parts of a deployment that look at the format of the table, and note it. */
function formatSteps(of: typeof template) {
  const found = Object.entries(of.findResources('Custom::TableFormat'));
  const steps = (name: string) =>
    found.flatMap(([id, one]) =>
      one.Properties.Step === name
        ? [{ id, Properties: one.Properties, DependsOn: one.DependsOn }]
        : [],
    );
  return { checks: steps('check'), records: steps('record') };
}

const tableStreamArn =
  'arn:aws:dynamodb:eu-central-1:123456789012:table/a-stack-restored/stream/2026-01-31T08:00:00.000';
const restored = await templateWith({ tableName: 'a-stack-restored', tableStreamArn });

test('a table that was restored replaces the own one, for all functions and with the same permissions', () => {
  restored.resourceCountIs('AWS::DynamoDB::Table', 0);
  restored.allResourcesProperties('AWS::Lambda::Function', {
    Environment: { Variables: { TABLE_NAME: 'a-stack-restored' } },
  });
  const rights = (of: typeof template): string[] =>
    JSON.stringify(of.findResources('AWS::IAM::Role')).match(/"dynamodb:\w+"/g) ?? [];
  expect(rights(template)).toContain('"dynamodb:GetItem"');
  expect(rights(restored)).toEqual(rights(template));
  restored.hasOutput('TableName', { Value: 'a-stack-restored' });
  restored.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
    EventSourceArn: tableStreamArn,
  });
});

describe('the secrets', () => {
  test('outlive the stack', () => {
    template.allResources('AWS::SecretsManager::Secret', {
      DeletionPolicy: 'RetainExceptOnCreate',
      UpdateReplacePolicy: 'Retain',
    });
    template.resourceCountIs('AWS::SecretsManager::Secret', 3);
  });

  test('have replicas in the regions of the setting, and else nowhere', async () => {
    const type = 'AWS::SecretsManager::Secret';
    template.allResourcesProperties(type, { ReplicaRegions: Match.absent() });
    changed.allResourcesProperties(type, {
      ReplicaRegions: [{ Region: 'eu-west-1' }, { Region: 'us-gov-west-1' }],
    });
    // The region that takes over has the same settings.
    const there = await templateWith({
      account: '123456789012',
      region: 'eu-west-1',
      replicaRegions,
    });
    there.allResourcesProperties(type, { ReplicaRegions: [{ Region: 'us-gov-west-1' }] });
  });

  test.each([
    ['SecretsSigningKeys20695C0E', 'RotateSigningKeys', 'rate(30 days)'],
    ['SecretsRefreshTokens4B65249A', 'RotateServiceSecrets', 'rate(90 days)'],
    ['SecretsProviderSettings4E6314D7', 'RotateServiceSecrets', 'rate(90 days)'],
  ])(
    'Secrets Manager has %s rotated by %s, at the first deployment and at the %s, in this account alone',
    (secret, rotation, ScheduleExpression) => {
      template.resourceCountIs('AWS::SecretsManager::RotationSchedule', 3);
      template.hasResourceProperties('AWS::SecretsManager::RotationSchedule', {
        SecretId: { Ref: secret },
        RotationLambdaARN: { 'Fn::GetAtt': [rotation, 'Arn'] },
        RotationRules: { ScheduleExpression, Duration: '4h' },
        RotateImmediatelyOnUpdate: true,
      });
      template.hasResourceProperties('AWS::Lambda::Permission', {
        FunctionName: { 'Fn::GetAtt': [rotation, 'Arn'] },
        Principal: 'secretsmanager.amazonaws.com',
        SourceAccount: { Ref: 'AWS::AccountId' },
        SourceArn: { Ref: secret },
      });
    },
  );

  test('a deployment ends only when they have been rotated once, within six minutes', () => {
    template.hasResource('Custom::FirstRotation', {
      Properties: {
        ServiceToken: { 'Fn::GetAtt': ['AwaitSigningKeys', 'Arn'] },
        ServiceTimeout: '360',
        SecretId: { Ref: 'SecretsSigningKeys20695C0E' },
      },
      DependsOn: ['SigningKeyRotationSchedule8E3BE7B6'],
    });
  });

  test('a change of the algorithm reaches the functions, and updates the schedule, which rotates at once', () => {
    const rulesOf = (deployed: typeof template, algorithm: string): unknown => {
      deployed.allResourcesProperties('AWS::Lambda::Function', {
        Environment: { Variables: { TOKEN_ALGORITHM: algorithm } },
      });
      const schedules = deployed.findResources('AWS::SecretsManager::RotationSchedule', {
        Properties: { SecretId: { Ref: 'SecretsSigningKeys20695C0E' } },
      });
      return Object.values(schedules).map(({ Properties, DependsOn }) => {
        expect(DependsOn).toContain('RotateSigningKeys');
        return Properties.RotationRules;
      });
    };
    const rsa = rulesOf(template, 'RS256');
    expect(rsa).toEqual([expect.any(Object)]);
    expect(rulesOf(changed, tokenAlgorithm)).not.toEqual(rsa);
  });
});

test('a deployment outputs its address and what the commands of the docs need', () => {
  expect(Object.keys(template.findOutputs('*')).sort()).toEqual([
    'AlarmTopic',
    'ApiUrl',
    'AuditLogGroup',
    'DeadLetterQueueUrl',
    'EventBusName',
    'OperatorFunctionName',
    'PinnedDeploymentValue',
    'PinnedDomainNameValue',
    'PinnedStageValue',
    'PinnedTableNameValue',
    'ProviderSettingsSecretArn',
    'RefreshTokensSecretArn',
    'SigningKeysSecretArn',
    'TableName',
    'UndeliveredAudit',
    'Version',
  ]);
  template.hasOutput('Version', { Value: version });
});

const encrypted = await templateWith(withKey);

describe("a deployment's own key", () => {
  const keyArn = withKey.kmsKeyArn;
  const properties: [string, Record<string, unknown>][] = [
    [
      'AWS::DynamoDB::Table',
      { SSESpecification: { SSEEnabled: true, SSEType: 'KMS', KMSMasterKeyId: keyArn } },
    ],
    ['AWS::SecretsManager::Secret', { KmsKeyId: keyArn }],
    ['AWS::Logs::LogGroup', { KmsKeyId: keyArn }],
    ['AWS::SNS::Topic', { KmsMasterKeyId: keyArn }],
    ['AWS::SQS::Queue', { KmsMasterKeyId: keyArn }],
  ];

  test.each(properties)('encrypts each %s', (type, expected) => {
    encrypted.allResourcesProperties(type, expected);
  });

  // Each of them takes another key without interruption, as CloudFormation's template reference
  // says of it.
  test('changes nothing else of what holds data, and no logical id', () => {
    const without = (of: typeof template, names: string[], type: string) =>
      Object.entries(of.findResources(type)).map(([id, { Properties = {}, ...others }]) => ({
        id,
        ...others,
        properties: Object.entries(Properties).filter(([name]) => !names.includes(name)),
      }));
    for (const [type, changed] of properties) {
      const names = [...Object.keys(changed), 'SqsManagedSseEnabled'];
      expect(without(encrypted, names, type)).toEqual(without(template, names, type));
    }
    const withoutHash = (id: string) => id.replace(/(?<=[0-9A-F]{8})(?:[0-9a-f]{16}){1,2}$/, '');
    const ids = (of: typeof template) => Object.keys(of.toJSON().Resources).map(withoutHash);
    expect(ids(encrypted)).toEqual(ids(template));
  });

  /** The services through which a function may use the key, each with what it may do. */
  const uses = (id: string): Record<string, string[]> => {
    const [, policy] = Object.entries(encrypted.findResources('AWS::IAM::Policy')).find(([name]) =>
      name.startsWith(id),
    ) ?? ['', { Properties: {} }];
    const statements = policy.Properties.PolicyDocument?.Statement ?? [];
    return Object.fromEntries(
      statements
        .filter(({ Resource }: { Resource: unknown }) => Resource === keyArn)
        .map(
          ({ Action, Condition }: { Action: string[]; Condition: { StringEquals: unknown } }) => [
            JSON.stringify(Condition.StringEquals)
              .match(/(dynamodb|secretsmanager|sqs)\./g)
              ?.join(' '),
            Action,
          ],
        ),
    );
  };
  const read = ['kms:Decrypt', 'kms:DescribeKey'];
  const write = [
    ...read,
    'kms:Encrypt',
    'kms:GenerateDataKey',
    'kms:ReEncryptFrom',
    'kms:ReEncryptTo',
  ];
  test.each([
    ['searchevents', { 'dynamodb.': read }],
    // The secrets that it reads: it has no right of Secrets Manager to write them.
    ['issuetoken', { 'dynamodb. secretsmanager.': write }],
    ['rotatesigningkeys', { 'dynamodb.': write, 'secretsmanager.': write }],
    ['publishevents', { 'dynamodb.': read, 'sqs.': write }],
    ['forwardaudit', { 'sqs.': write }],
    ['describeserver', {}],
  ])('%s may use it through these services alone: %j', (id, allowed) => {
    expect(uses(id)).toEqual(allowed);
  });

  // Each sends to the encrypted topic; EventBridge does not tell KMS for which account. @see Amazon
  // SNS developer guide, "Enable compatibility between event sources from AWS services and
  // encrypted topics"
  test.each([
    ['cloudwatch', { StringEquals: { 'aws:SourceAccount': '123456789012' } }],
    ['events', undefined],
  ])(
    'lets %s use it on the condition %j, in the policy that the settings have for it',
    (service, Condition) => {
      const about = keyPolicy.Statement.filter(({ Principal }) =>
        isDeepStrictEqual(Principal, { Service: `${service}.amazonaws.com` }),
      );
      expect(about).toMatchObject([{ Action: ['kms:Decrypt', 'kms:GenerateDataKey*'] }]);
      expect(about[0]?.Condition).toEqual(Condition);
    },
  );

  test('is none without the setting, so that AWS has its own', () => {
    expect(JSON.stringify(template.toJSON()).match(/kms:[\w*]*/g)).toBeNull();
    template.allResourcesProperties('AWS::SNS::Topic', { KmsMasterKeyId: Match.absent() });
  });
});

test('the stream is read from its start, and what fails is tried again in halves, and at last told', () => {
  const [table] = Object.keys(template.findResources('AWS::DynamoDB::Table'));
  template.resourceCountIs('AWS::Lambda::EventSourceMapping', 1);
  template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
    EventSourceArn: { 'Fn::GetAtt': [table, 'StreamArn'] },
    FunctionName: { Ref: 'PublishEvents' },
    StartingPosition: 'TRIM_HORIZON',
    BatchSize: 100,
    MaximumBatchingWindowInSeconds: 1,
    FunctionResponseTypes: ['ReportBatchItemFailures'],
    BisectBatchOnFunctionError: true,
    MaximumRecordAgeInSeconds: 23 * 3600,
    // Its age is the only limit of a record.
    MaximumRetryAttempts: Match.absent(),
    ParallelizationFactor: 10,
    DestinationConfig: {
      OnFailure: {
        Destination: {
          'Fn::GetAtt': [Match.stringLikeRegexp('^EventPublishingDeadLetters'), 'Arn'],
        },
      },
    },
  });
});

test('the stream has the filter of what is published, within the limits of Lambda', () => {
  const [mapping] = Object.values(template.findResources('AWS::Lambda::EventSourceMapping'));
  const filters: { Pattern: string }[] = mapping?.Properties.FilterCriteria.Filters ?? [];
  expect(filters.map(({ Pattern }) => JSON.parse(Pattern))).toEqual(streamFilter);
  expect(filters.length).toBeLessThanOrEqual(5);
  for (const { Pattern } of filters) expect(Pattern.length).toBeLessThanOrEqual(4096);
});

test.each(['EVENT_BUS_NAME', 'DEAD_LETTER_QUEUE_URL'])(
  'no other function is told %s',
  (variable) => {
    const told = functions.filter(({ properties }) => variable in properties.Environment.Variables);
    expect(told.map(({ properties }) => properties)).toEqual([named('publish-events')]);
  },
);

test('the bus has the name of the stack', () => {
  const buses = Object.values(template.findResources('AWS::Events::EventBus'));
  expect(buses.map(({ Properties }) => Properties.Name)).toEqual(['a-stack']);
});

test('the bus has an archive only for as long as is set', () => {
  template.resourceCountIs('AWS::Events::Archive', 0);
  changed.hasResourceProperties('AWS::Events::Archive', {
    ArchiveName: 'a-stack',
    SourceArn: { 'Fn::GetAtt': [Match.stringLikeRegexp('^EventPublishingBus'), 'Arn'] },
    RetentionDays: 30,
  });
});
