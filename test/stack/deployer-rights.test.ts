import { describe, expect, test } from '@jest/globals';
import type { Template } from 'aws-cdk-lib/assertions';
import * as v from 'valibot';
import boundary from '../../docs/policies/boundary.json' with { type: 'json' };
import execution from '../../docs/policies/cloudformation.json' with { type: 'json' };
import { codeBlock } from '../support/code-blocks.ts';
import { everything } from '../support/deployments.ts';
import { arnOf, resolved } from '../support/resolve-template.ts';
import { isLike, stacksWith, template, watching } from '../support/template.ts';
import { ofType, type Resources } from '../upgrade/resources.ts';
import { today } from '../upgrade/upgrade-problems.ts';

const policySchema = v.object({
  PolicyDocument: v.optional(
    v.object({
      Statement: v.array(
        v.object({
          Action: v.union([v.string(), v.array(v.string())]),
          Resource: v.union([v.string(), v.array(v.string())]),
        }),
      ),
    }),
  ),
});

/**
 * What CloudFormation calls to create, read, update and delete a resource of each type: the
 * permissions of its handlers, without those for features that the templates don't use, such as
 * Kinesis streams, VPCs and imports.
 * @see AWS CloudFormation API reference, "DescribeType": `handlers`, in the schema of each type
 */
const handlerPermissions: Record<string, string> = {
  'Custom::FirstRotation': 'lambda:InvokeFunction',
  'Custom::TableFormat': 'lambda:InvokeFunction',
  'Custom::Trial': 'lambda:InvokeFunction',
  'AWS::ApiGatewayV2::Api': 'apigateway:DELETE,GET,PATCH,POST,PUT',
  'AWS::ApiGatewayV2::ApiMapping': 'apigateway:DELETE,GET,PATCH,POST,PUT',
  'AWS::ApiGatewayV2::DomainName': 'apigateway:DELETE,GET,PATCH,POST,PUT',
  'AWS::ApiGatewayV2::Integration': 'apigateway:DELETE,GET,PATCH,POST,PUT iam:PassRole',
  'AWS::ApiGatewayV2::Route': 'apigateway:DELETE,GET,PATCH,POST,PUT',
  'AWS::ApiGatewayV2::Stage': 'apigateway:DELETE,GET,PATCH,POST',
  'AWS::CloudFormation::Stack':
    'cloudformation:CreateStack,DeleteStack,DescribeStacks,GetStackPolicy,GetTemplate,SetStackPolicy,UpdateStack,UpdateTerminationProtection iam:PassRole',
  'AWS::CloudFront::Distribution':
    'cloudfront:CreateDistribution,CreateDistributionWithTags,DeleteDistribution,GetDistribution,GetDistributionConfig,ListTagsForResource,TagResource,UntagResource,UpdateDistribution,UpdateDistributionWithStagingConfig',
  'AWS::CloudFront::OriginRequestPolicy':
    'cloudfront:CreateOriginRequestPolicy,DeleteOriginRequestPolicy,GetOriginRequestPolicy,UpdateOriginRequestPolicy',
  'AWS::CloudWatch::Alarm':
    'cloudwatch:DeleteAlarms,DescribeAlarms,ListTagsForResource,PutMetricAlarm,TagResource,UntagResource',
  'AWS::CloudWatch::Dashboard':
    'cloudwatch:DeleteDashboards,GetDashboard,ListTagsForResource,PutDashboard,TagResource,UntagResource',
  'AWS::CodeDeploy::Application':
    'codedeploy:CreateApplication,DeleteApplication,GetApplication,ListTagsForResource,TagResource,UntagResource',
  'AWS::CodeDeploy::DeploymentGroup':
    'codedeploy:CreateDeployment,CreateDeploymentGroup,DeleteDeploymentGroup,GetApplicationRevision,GetDeployment,GetDeploymentConfig,GetDeploymentGroup,ListDeployments,ListTagsForResource,RegisterApplicationRevision,RegisterOnPremisesInstance,StopDeployment,TagResource,UntagResource,UpdateDeploymentGroup iam:PassRole',
  'AWS::DynamoDB::Table':
    'dynamodb:CreateTable,DeleteResourcePolicy,DeleteTable,DescribeContinuousBackups,DescribeContributorInsights,DescribeTable,DescribeTimeToLive,GetResourcePolicy,ListTagsOfResource,PutResourcePolicy,TagResource,UntagResource,UpdateContinuousBackups,UpdateContributorInsights,UpdateTable,UpdateTimeToLive kms:CreateGrant,Decrypt,DescribeKey,Encrypt s3:GetObject',
  'AWS::Events::Archive':
    'events:CreateArchive,DeleteArchive,DescribeArchive,UpdateArchive kms:Decrypt,DescribeKey,GenerateDataKey',
  'AWS::Events::EventBus':
    'events:CreateEventBus,DeleteEventBus,DescribeEventBus,ListTagsForResource,PutPermission,RemovePermission,TagResource,UntagResource,UpdateEventBus kms:Decrypt,DescribeKey,Encrypt,GenerateDataKey',
  'AWS::Events::Rule':
    'events:DeleteRule,DescribeRule,ListTagsForResource,ListTargetsByRule,PutRule,PutTargets,RemoveTargets,TagResource,UntagResource iam:PassRole',
  'AWS::IAM::Policy': 'iam:DeleteRolePolicy,GetRolePolicy,PutRolePolicy',
  'AWS::IAM::Role':
    'iam:AttachRolePolicy,CreateRole,DeleteRole,DeleteRolePermissionsBoundary,DeleteRolePolicy,DetachRolePolicy,GetRole,GetRolePolicy,ListAttachedRolePolicies,ListRolePolicies,PutRolePermissionsBoundary,PutRolePolicy,TagRole,UntagRole,UpdateAssumeRolePolicy,UpdateRole,UpdateRoleDescription',
  'AWS::Lambda::Alias':
    'codedeploy:CreateDeployment,GetDeployment,GetDeploymentConfig,GetDeploymentGroup,StopDeployment lambda:CreateAlias,DeleteAlias,DeleteProvisionedConcurrencyConfig,GetAlias,GetProvisionedConcurrencyConfig,PutProvisionedConcurrencyConfig,UpdateAlias',
  'AWS::Lambda::EventInvokeConfig':
    'lambda:DeleteFunctionEventInvokeConfig,GetFunctionEventInvokeConfig,PutFunctionEventInvokeConfig,UpdateFunctionEventInvokeConfig',
  'AWS::Lambda::EventSourceMapping':
    'kms:Decrypt,DescribeKey,GenerateDataKey lambda:CreateEventSourceMapping,DeleteEventSourceMapping,GetEventSourceMapping,ListTags,TagResource,UntagResource,UpdateEventSourceMapping',
  'AWS::Lambda::Function':
    'iam:PassRole kms:CreateGrant,Decrypt,DescribeKey,Encrypt,GenerateDataKey lambda:CreateFunction,DeleteFunction,DeleteFunctionCodeSigningConfig,DeleteFunctionConcurrency,GetCodeSigningConfig,GetFunction,GetFunctionCodeSigningConfig,GetFunctionRecursionConfig,GetFunctionScalingConfig,GetLayerVersion,GetRuntimeManagementConfig,PassCapacityProvider,PublishVersion,PutFunctionCodeSigningConfig,PutFunctionConcurrency,PutFunctionRecursionConfig,PutFunctionScalingConfig,PutRuntimeManagementConfig,TagResource,UntagResource,UpdateFunctionCode,UpdateFunctionConfiguration s3:GetObject',
  'AWS::Lambda::Permission': 'lambda:AddPermission,GetPolicy,RemovePermission',
  'AWS::Lambda::Version':
    'lambda:DeleteFunction,GetFunctionConfiguration,GetFunctionScalingConfig,GetProvisionedConcurrencyConfig,GetRuntimeManagementConfig,ListVersionsByFunction,PublishVersion,PutFunctionScalingConfig,PutProvisionedConcurrencyConfig,PutRuntimeManagementConfig',
  'AWS::Logs::Delivery':
    'logs:CreateDelivery,DeleteDelivery,DescribeDeliveries,GetDelivery,GetDeliveryDestination,GetDeliverySource,ListTagsForResource,TagResource,UntagResource,UpdateDeliveryConfiguration',
  'AWS::Logs::DeliveryDestination':
    'logs:DeleteDeliveryDestination,DeleteDeliveryDestinationPolicy,GetDeliveryDestination,GetDeliveryDestinationPolicy,ListTagsForResource,PutDeliveryDestination,PutDeliveryDestinationPolicy,TagResource,UntagResource',
  'AWS::Logs::DeliverySource':
    'logs:AllowVendedLogDeliveryForResource,DeleteDeliverySource,GetDeliverySource,ListTagsForResource,PutDeliverySource,TagResource,UntagResource cloudfront:AllowVendedLogDeliveryForResource',
  'AWS::Logs::LogGroup':
    'logs:AssociateKmsKey,CreateLogDelivery,CreateLogGroup,DeleteDataProtectionPolicy,DeleteIndexPolicy,DeleteLogGroup,DeleteResourcePolicy,DeleteRetentionPolicy,DescribeIndexPolicies,DescribeLogGroups,DescribeResourcePolicies,DisassociateKmsKey,GetDataProtectionPolicy,ListTagsForResource,PutBearerTokenAuthentication,PutDataProtectionPolicy,PutIndexPolicy,PutLogGroupDeletionProtection,PutResourcePolicy,PutRetentionPolicy,TagResource,UntagResource',
  'AWS::Logs::MetricFilter': 'logs:DeleteMetricFilter,DescribeMetricFilters,PutMetricFilter',
  'AWS::Logs::SubscriptionFilter':
    'iam:PassRole logs:DeleteSubscriptionFilter,DescribeSubscriptionFilters,PutSubscriptionFilter',
  'AWS::SNS::Subscription':
    'iam:PassRole sns:GetSubscriptionAttributes,SetSubscriptionAttributes,Subscribe,Unsubscribe',
  'AWS::SNS::Topic':
    'iam:PassRole sns:CreateTopic,DeleteTopic,GetDataProtectionPolicy,GetTopicAttributes,ListSubscriptionsByTopic,ListTagsForResource,PutDataProtectionPolicy,SetTopicAttributes,Subscribe,TagResource,Unsubscribe,UntagResource',
  'AWS::SNS::TopicPolicy': 'sns:SetTopicAttributes',
  'AWS::SQS::Queue':
    'sqs:CreateQueue,DeleteQueue,GetQueueAttributes,GetQueueUrl,ListQueueTags,SetQueueAttributes,TagQueue,UntagQueue',
  'AWS::SQS::QueuePolicy': 'sqs:SetQueueAttributes',
  'AWS::SecretsManager::RotationSchedule':
    'iam:PassRole lambda:InvokeFunction secretsmanager:CancelRotateSecret,DescribeSecret,RotateSecret',
  'AWS::SecretsManager::Secret':
    'secretsmanager:CreateSecret,DeleteSecret,DescribeSecret,GetRandomPassword,GetSecretValue,RemoveRegionsFromReplication,ReplicateSecretToRegions,TagResource,UntagResource,UpdateSecret',
  'AWS::WAFv2::LoggingConfiguration':
    'iam:CreateServiceLinkedRole logs:CreateLogDelivery,DeleteLogDelivery,DescribeLogGroups,DescribeResourcePolicies,PutResourcePolicy wafv2:DeleteLoggingConfiguration,GetLoggingConfiguration,PutLoggingConfiguration',
  'AWS::WAFv2::IPSet':
    'wafv2:CreateIPSet,DeleteIPSet,GetIPSet,ListTagsForResource,TagResource,UntagResource,UpdateIPSet',
  'AWS::WAFv2::WebACL':
    'wafv2:CreateWebACL,DeleteWebACL,GetWebACL,ListTagsForResource,TagResource,UntagResource,UpdateWebACL',
};

type Policy = typeof boundary | typeof execution;
const actionsOf = ({ Statement }: Policy) =>
  Statement.flatMap(({ Action }): string[] => [Action].flat());

/** The names that an owner puts into the policies, besides those that are in them. */
const owned: Record<string, string> = {
  'EDGE-KEY': '12345678-90ab-cdef-1234-567890abcdef',
  KEY: '12345678-90ab-cdef-1234-567890abcdef',
  HOOK: 'login-hook',
};

/** Whether a policy allows an action on a resource, whatever its conditions. */
const allows = ({ Statement }: Policy, action: string, resource: string): boolean =>
  Statement.some(({ Action, Resource }) => {
    const forms = [Resource]
      .flat()
      .map((form) => form.replace(/EDGE-KEY|KEY|HOOK/, (name) => owned[name] ?? name));
    return (
      [Action].flat().some((form) => isLike(action, form)) &&
      forms.some((form) => isLike(resource, form))
    );
  });

// Every role and every type of resource is in one of these.
const stacks = await stacksWith(
  { ...everything, stack: 'live' },
  { '@aws-cdk/core:permissionsBoundary': { name: 'live-boundary' } },
);
if (!stacks.edge) throw new Error('There is no edge.');
const bounded = stacks.service.template;
const templates = [bounded, stacks.watching, stacks.edge.template, template, watching];
const resourcesIn = (one: Template): Resources =>
  today({ service: one.toJSON(), edge: one.toJSON() }).stacks.service?.Resources ?? {};
const types = new Set(
  templates.flatMap((one) => Object.values(resourcesIn(one)).map(({ Type }) => Type)),
);
const place = { partition: 'aws', region: 'eu-central-1', stack: 'live' };

test.each([boundary, execution])('a policy is no longer than IAM takes', (policy) => {
  expect(JSON.stringify(policy).length).toBeLessThanOrEqual(6144);
});

describe('the boundary', () => {
  test('is that of every role when cdk.json names it', () => {
    const context: unknown = JSON.parse(`{${codeBlock('production.md', 'json')}}`);
    expect(context).toEqual({ '@aws-cdk/core:permissionsBoundary': { name: 'live-boundary' } });
    const roles = Object.values(bounded.findResources('AWS::IAM::Role'));
    const without = roles.filter(
      ({ Properties }) =>
        !JSON.stringify(Properties.PermissionsBoundary ?? '').includes(':policy/live-boundary"'),
    );
    expect({ some: roles.length > 30, without }).toEqual({ some: true, without: [] });
  });

  /** Each action that a role may do, with the resource on which it may. */
  const rightsIn = (resources: Resources): [action: string, on: string][] =>
    ['AWS::IAM::Role', 'AWS::IAM::Policy']
      .flatMap((type) => ofType(resources, type))
      .flatMap(
        ([
          ,
          {
            Properties: { Policies = [], PolicyDocument },
          },
        ]) => [Policies, { PolicyDocument }].flat(),
      )
      .flatMap(
        (policy) =>
          v.parse(policySchema, JSON.parse(resolved(policy, resources, place))).PolicyDocument
            ?.Statement ?? [],
      )
      .flatMap(({ Action, Resource }) =>
        [Action]
          .flat()
          .flatMap((action) => [Resource].flat().map((on): [string, string] => [action, on])),
      );
  const given = rightsIn(resourcesIn(bounded));

  test('allows what the roles may do, on the resources on which they may', () => {
    const denied = given.filter(([action, on]) => !allows(boundary, action, on));
    expect({ some: given.length > 100, denied }).toEqual({ some: true, denied: [] });
  });

  test.each([
    ['dynamodb:GetItem', 'dynamodb', 'table/live-restored-202601310800', true],
    ['dynamodb:GetItem', 'dynamodb', 'table/other', false],
    ['lambda:InvokeFunction', 'lambda', 'function:login-hook', true],
    ['lambda:InvokeFunction', 'lambda', 'function:login-hooks', false],
    ['lambda:UpdateAlias', 'lambda', 'function:login-hook', false],
  ])('%s on the %s resource %s: %s', (action, service, resource, isAllowed) => {
    const arn = `arn:aws:${service}:eu-central-1:123456789012:${resource}`;
    expect(allows(boundary, action, arn)).toBe(isAllowed);
  });

  test('allows nothing else, but for what transactions need', () => {
    // What AWS's own policy for the role of CodeDeploy has of what Lambda needs:
    // AWSCodeDeployRoleForLambdaLimited.
    const codeDeploy = [
      'cloudwatch:DescribeAlarms',
      ...['GetAlias', 'GetProvisionedConcurrencyConfig', 'UpdateAlias'].map(
        (action) => `lambda:${action}`,
      ),
    ];
    const roles = given.map(([action]) => action);
    // On the way back to 1.0.0, CodeDeploy waits an hour for a function that may not report to it.
    const of100 = 'codedeploy:PutLifecycleEventHookExecutionStatus';
    const expected = [
      ...roles,
      ...codeDeploy,
      of100,
      'dynamodb:ConditionCheckItem',
      'lambda:InvokeFunction',
    ];
    expect([...new Set(actionsOf(boundary))].sort()).toEqual([...new Set(expected)].sort());
  });
});

describe("the policy of CloudFormation's role", () => {
  const permissionsOf = (type: string): string[] =>
    (handlerPermissions[type] ?? '').split(' ').flatMap((service) => {
      const [prefix, actions = ''] = service.split(':');
      return actions.split(',').map((action) => `${prefix}:${action}`);
    });
  const needed = [...types].flatMap(permissionsOf);
  const always = ['s3:GetObject', 'ssm:GetParameters', 'iam:PutRolePermissionsBoundary'];

  test('is about each type of resource in the templates', () => {
    expect(Object.keys(handlerPermissions).sort()).toEqual([...types].sort());
  });

  test('allows what they need on what they are about, by its name', () => {
    const denied = templates.slice(0, 3).flatMap((one) =>
      Object.entries(resourcesIn(one)).flatMap(([id, resource]) => {
        const arn = arnOf(id, resource, place) ?? '';
        const [, , service] = arn.split(':');
        const own = permissionsOf(resource.Type).filter((one) => one.startsWith(`${service}:`));
        return own.filter((action) => !allows(execution, action, arn));
      }),
    );
    expect([...new Set(denied)]).toEqual(['iam:DeleteRolePermissionsBoundary']);
  });

  test('allows what they need, but not to take a boundary away', () => {
    const lacking = needed.filter(
      (action) => !actionsOf(execution).some((form) => isLike(action, form)),
    );
    expect([...new Set(lacking)]).toEqual(['iam:DeleteRolePermissionsBoundary']);
  });

  // The edge reads the address of the API from the stack of the service, with the role of its own
  // deployment. @see AWS CloudFormation template reference, "Fn::GetStackOutput": RoleArn
  test.each(['live', 'live-edge', 'live-Watching'])('is about the stack %s', (name) => {
    const arn = `arn:aws:cloudformation:eu-central-1:123456789012:stack/${name}/id`;
    const forms = execution.Statement.flatMap(({ Resource }): string[] => [Resource].flat());
    expect(forms.filter((form) => form !== '*' && isLike(arn, form))).toHaveLength(1);
  });

  test('allows nothing that none of them needs', () => {
    const all = [...needed, ...always];
    expect(
      actionsOf(execution).filter((form) => !all.some((action) => isLike(action, form))),
    ).toEqual([]);
  });

  test('gives rights to a role only with the boundary, and to no other names', () => {
    const giving = [
      'CreateRole',
      'PutRolePolicy',
      'AttachRolePolicy',
      'PutRolePermissionsBoundary',
    ];
    const statements = execution.Statement.map((one) => ({ ...one, actions: [one.Action].flat() }));
    const about = statements.filter(({ actions }) =>
      giving.some((one) => actions.includes(`iam:${one}`)),
    );
    expect(about.map(({ Sid }) => Sid)).toEqual(['RolesWithTheBoundaryAlone']);
    expect(about[0]?.Condition?.StringEquals).toEqual({
      'iam:PermissionsBoundary': 'arn:aws:iam::123456789012:policy/live-boundary',
    });
    const iam = statements.filter(({ actions }) => actions.some((one) => /^(iam:|\*)/.test(one)));
    expect(iam.flatMap(({ Resource }) => Resource)).not.toContain('*');
  });
});
