import { describe, expect, test } from '@jest/globals';
import { App, Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { DomainName } from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { AttributeType, StreamViewType, Table, TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { Edge } from '../../infra/stack/edge.ts';
import { LoginService, type LoginServiceProps } from '../../infra/stack/login-service.ts';
import { withEdge } from '../support/deployments.ts';

/** An app that has none of this project's feature flags. */
const newApp = (): App =>
  new App({
    context: { 'aws:cdk:bundling-stacks': [] },
    stackTraces: false,
    treeMetadata: false,
    builtinCloudFormationValidation: false,
  });

function ownStack(name = 'accounts', app = newApp()): Stack {
  return new Stack(app, name, { env: { account: '123456789012', region: 'eu-central-1' } });
}

const keys = {
  partitionKey: { name: 'pk', type: AttributeType.STRING },
  sortKey: { name: 'sk', type: AttributeType.STRING },
};

describe('resources of your own take the place of those of the service', () => {
  const stack = ownStack();
  const domain = new DomainName(stack, 'Domain', {
    domainName: 'login.example.com',
    certificate: Certificate.fromCertificateArn(stack, 'Certificate', withEdge.certificateArn),
  });
  const given = {
    table: new TableV2(stack, 'People', {
      ...keys,
      dynamoStream: StreamViewType.NEW_AND_OLD_IMAGES,
    }),
    eventBus: EventBus.fromEventBusArn(
      stack,
      'Bus',
      'arn:aws:events:eu-central-1:210987654321:event-bus/company',
    ),
    alarmTopic: new Topic(stack, 'Topic'),
    domain,
  };
  const service = new LoginService(stack, 'Login', given);
  const template = Template.fromStack(stack);
  const watching = JSON.stringify(Template.fromStack(service.watching).toJSON());
  const own = (resource: string): string => `${resource}[0-9A-F]{8}`;

  test('and are what others get from it', () => {
    const { table, eventBus, alarmTopic, url } = service;
    expect([table, eventBus, alarmTopic]).toEqual([given.table, given.eventBus, given.alarmTopic]);
    expect(url).toBe(`https://${domain.name}`);
    for (const type of ['AWS::DynamoDB::Table', 'AWS::Events::EventBus'])
      template.resourceCountIs(type, 0);
    template.resourceCountIs('AWS::SNS::Topic', 1);
    template.resourceCountIs('AWS::ApiGatewayV2::DomainName', 1);
  });

  test('the functions use the table, and publish to a bus of another account', () => {
    template.hasResourceProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: {
          TABLE_NAME: { Ref: Match.stringLikeRegexp(own('People')) },
          EVENT_BUS_NAME: given.eventBus.eventBusArn,
        },
      },
    });
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      EventSourceArn: { 'Fn::GetAtt': [Match.stringLikeRegexp(own('People')), 'StreamArn'] },
    });
  });

  test('the API answers at the domain alone, which is the issuer', () => {
    template.hasResourceProperties('AWS::ApiGatewayV2::Api', { DisableExecuteApiEndpoint: true });
    template.hasResourceProperties('AWS::ApiGatewayV2::ApiMapping', {
      DomainName: { Ref: Match.stringLikeRegexp(own('Domain')) },
    });
    template.hasOutput('ApiUrl', {
      Value: { 'Fn::Join': ['', ['https://', { Ref: Match.stringLikeRegexp(own('Domain')) }]] },
    });
  });

  test('alarms and failed rotations reach the topic, whose policy lets CloudWatch and EventBridge publish', () => {
    const actions = new Set(watching.match(/(?<="(AlarmActions|OKActions)":\[).*?(?=\])/g));
    expect([...actions]).toEqual([
      expect.stringMatching(/^\{"Ref":"referencetoaccountsTopic[0-9A-F]{8}Ref"\}$/),
    ]);
    const principals = ['cloudwatch', 'events'].map((name) =>
      Match.objectLike({ Action: 'sns:Publish', Principal: { Service: `${name}.amazonaws.com` } }),
    );
    template.hasResourceProperties('AWS::SNS::TopicPolicy', {
      PolicyDocument: { Statement: Match.arrayWith(principals) },
    });
  });

  test('a deployed stack keeps them by their places in the app, where only CloudFormation knows the names', () => {
    template.hasParameter('PinnedTableName', { Default: 'accounts/People' });
    template.hasParameter('PinnedDomainName', { Default: 'accounts/Domain' });
  });
});

test('a service has the name of its stack, protects it in production, and says who may invoke its operator', () => {
  const stack = ownStack('accounts');
  const role = new Role(stack, 'Support', { assumedBy: new ServicePrincipal('ec2.amazonaws.com') });
  new LoginService(stack, 'Login').grantInvokeOperator(role);
  const template = Template.fromStack(stack);
  template.hasResourceProperties('AWS::Lambda::Function', { FunctionName: 'accounts-operator' });
  template.hasOutput('Version', {});
  template.hasOutput('SigningKeysSecretArn', {});
  expect(template.toJSON().Description).toBe('A login and access-request service');
  expect(stack.terminationProtection).toBe(true);
  // Whoever is let invoke the operator may invoke its function, and no other.
  const [policy] = Object.values(
    template.findResources('AWS::IAM::Policy', {
      Properties: { Roles: [{ Ref: Match.stringLikeRegexp('^Support') }] },
    }),
  );
  const arn = { 'Fn::GetAtt': ['Operator', 'Arn'] };
  const Resource = [arn, { 'Fn::Join': ['', [arn, ':*']] }];
  expect(policy?.Properties.PolicyDocument.Statement).toEqual([
    { Action: 'lambda:InvokeFunction', Effect: 'Allow', Resource },
  ]);
});

test('an edge is a second stack of the same app', () => {
  const app = newApp();
  const { account, region, ...settings } = withEdge;
  const edge = new Edge(app, new LoginService(ownStack('accounts', app), 'Login', settings));
  expect([edge.stackName, edge.region]).toEqual(['accounts-edge', 'us-east-1']);
  const without = new LoginService(ownStack('others', app), 'Login');
  expect(() => new Edge(app, without)).toThrow('The setting edge must be true.');
});

describe('what is wrong is an error at synth that names it', () => {
  const table = Table.fromTableName(ownStack('another'), 'Table', 'people');
  const domain = DomainName.fromDomainNameAttributes(ownStack('another'), 'Domain', {
    name: 'login.example.com',
    regionalDomainName: 'd-1.execute-api.eu-central-1.amazonaws.com',
    regionalHostedZoneId: 'Z1',
  });
  const eventBus = EventBus.fromEventBusName(ownStack('another'), 'Bus', 'company');

  test.each<[LoginServiceProps & Record<string, unknown>, string]>([
    [{ rateLimit: 0 }, 'rateLimit must be a whole number from 1 to 100000'],
    [{ rateLimits: 5 }, 'rateLimits is unknown; docs/settings.md lists them all'],
    [
      { replicaRegions: ['Frankfurt'] },
      'replicaRegions must be names of regions, separated by commas',
    ],
    [{ table }, 'table must have a stream, unless publishEvents is false'],
    [{ table, publishEvents: false, tableName: 'people' }, 'tableName must not come with table'],
    [{ table, publishEvents: false, maxWriteUnits: 5 }, 'maxWriteUnits must not come with table'],
    [{ domain, domainName: 'login.example.com' }, 'domainName must not come with domain'],
    [{ eventBus, publishEvents: false }, 'eventBus must come with publishEvents'],
  ])('%#: %s', (props, message) => {
    expect(() => new LoginService(ownStack(), 'Login', props)).toThrow(`The setting ${message}.`);
  });

  test('a name of the stack that its resources cannot have', () => {
    expect(() => new LoginService(ownStack('a'.repeat(41)), 'Login')).toThrow(
      'The setting stack must be letters, digits and hyphens, at most 40.',
    );
  });
});
