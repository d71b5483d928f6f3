import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import { readFunctions } from '../../infra/endpoints.ts';
import { isAudited } from '../../lib/http/endpoint.ts';
import { functions, named, resources, template, templateWith, text } from '../support/template.ts';

const { endpoints } = readFunctions();
const development = await templateWith({ stage: 'development', auditRetentionDays: '731' });

const logSchema = v.object({
  LogGroupName: v.optional(v.string()),
  RetentionInDays: v.number(),
  DeletionProtectionEnabled: v.optional(v.boolean()),
});
const auditGroup = (of = template) =>
  resources('AWS::Logs::LogGroup', logSchema, of).find(({ id }) => id.startsWith('AuditLog'));
/** What becomes of a resource when its stack is deleted. */
const fate = (type: string, prefix: string, of: typeof template) =>
  Object.entries(of.findResources(type)).find(([id]) => id.startsWith(prefix))?.[1];

describe('the audit log group', () => {
  test('is apart from the logs of functions, kept for 400 days, and protected', () => {
    expect(auditGroup()?.properties).toEqual({
      RetentionInDays: 400,
      DeletionProtectionEnabled: true,
    });
    const own = functions.map(({ properties }) => text(properties.LoggingConfig.LogGroup));
    expect(own).not.toContain(auditGroup()?.id);
  });

  test('and the lines that cannot be forwarded outlive a production stack, but not one for development', () => {
    const both = (of: typeof template) => [
      fate('AWS::Logs::LogGroup', 'AuditLog', of),
      fate('AWS::SQS::Queue', 'AuditUndelivered', of),
    ];
    expect(both(template)).toMatchObject([
      { DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' },
      { DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' },
    ]);
    expect(both(development)).toMatchObject([
      { DeletionPolicy: 'Delete' },
      { DeletionPolicy: 'Delete' },
    ]);
  });

  test('is kept for as long as is set, and not protected in development', async () => {
    const properties = { RetentionInDays: 731, DeletionProtectionEnabled: false };
    expect(auditGroup(development)?.properties).toEqual(properties);
    await expect(templateWith({ auditRetentionDays: 401 })).rejects.toThrow(
      'must be one of 1, 3, 5',
    );
  });
});

describe('the audit lines', () => {
  const filters = resources(
    'AWS::Logs::SubscriptionFilter',
    v.object({ FilterPattern: v.string(), LogGroupName: v.unknown(), DestinationArn: v.unknown() }),
  );
  const writers = [
    ...[...endpoints].filter(([, endpoint]) => isAudited(endpoint)).map(([key]) => key),
    'operator',
    'finish-deletions',
  ];

  test('go from the log of each function that writes them to the forwarder, and others are not delivered', () => {
    const logs = writers.map((key) => text(named(key).LoggingConfig.LogGroup));
    expect(filters.map(({ properties }) => text(properties.LogGroupName)).sort()).toEqual(
      logs.sort(),
    );
    for (const { properties } of filters) {
      expect(text(properties.DestinationArn)).toBe('ForwardAudit');
      expect(properties.FilterPattern).toBe('{ $.event = "audit" }');
    }
  });

  test('are delivered from the logs of this stack, and from no other', () => {
    template.hasResourceProperties('AWS::Lambda::Permission', {
      FunctionName: { 'Fn::GetAtt': ['ForwardAudit', 'Arn'] },
      Principal: 'logs.amazonaws.com',
      SourceAccount: { Ref: 'AWS::AccountId' },
      SourceArn: {
        'Fn::Join': ['', Match.arrayWith([Match.stringLikeRegexp('^:log-group:/a-stack/\\*$')])],
      },
    });
    // CloudWatch Logs tries the delivery when the subscription is made.
    template.allResources('AWS::Logs::SubscriptionFilter', {
      DependsOn: [Match.stringLikeRegexp('^AuditDeliveries')],
    });
  });

  test('that cannot be forwarded wait in a queue, encrypted, for 14 days', () => {
    template.hasResourceProperties('AWS::Lambda::EventInvokeConfig', {
      FunctionName: { Ref: 'ForwardAudit' },
      DestinationConfig: { OnFailure: {} },
    });
    template.hasResourceProperties('AWS::SQS::Queue', { MessageRetentionPeriod: 14 * 86_400 });
  });
});
