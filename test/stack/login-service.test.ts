import { describe, expect, test } from '@jest/globals';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { DomainName } from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { TableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { LoginService } from '../../infra/stack/login-service.ts';
import type { LoginServiceProps } from '../../infra/stack/service-props.ts';
import { tableShape } from '../../infra/stack/table-shape.ts';
import { withEdge } from '../support/deployments.ts';
import { newApp, ownStack } from '../support/embedded-app.ts';

describe('settings for one deployment come by the context of the app', () => {
  function withContext(context: Record<string, string>, props: LoginServiceProps = {}) {
    const stack = ownStack('accounts', newApp(context));
    const { settings, watching } = new LoginService(stack, 'Login', props);
    return { settings, watching: Template.fromStack(watching), service: Template.fromStack(stack) };
  }

  test('no canary', () => {
    const { watching, service } = withContext({ canary: 'false' }, { canary: true });
    watching.resourceCountIs('AWS::CodeDeploy::DeploymentGroup', 0);
    service.resourceCountIs('Custom::Trial', 1);
  });

  test('no roll-back on alarms', () => {
    withContext({ ignoreAlarms: 'true' }).watching.allResourcesProperties(
      'AWS::CodeDeploy::DeploymentGroup',
      { AlarmConfiguration: { Alarms: [], Enabled: false } },
    );
  });

  test('a restored table, which is changed on purpose', () => {
    const tableStreamArn =
      'arn:aws:dynamodb:eu-central-1:123456789012:table/restored/stream/2026-01-31T08:00:00.000';
    const { service } = withContext({ tableName: 'restored', tableStreamArn, change: 'tableName' });
    service.resourceCountIs('AWS::DynamoDB::Table', 0);
    expect(service.toJSON().Parameters).not.toHaveProperty('PinnedTableName');
  });

  test('but no other setting, of which the app may have its own', () => {
    expect(withContext({ stage: 'development', rateLimit: 'none' }).settings).toMatchObject({
      stage: 'production',
      rateLimit: 1000,
    });
  });

  test.each<[Record<string, string>, string]>([
    [{ canary: 'no' }, "the prop canary must be true or false, not 'no'"],
    [{ tableName: 'restored' }, 'the prop tableStreamArn must come with tableName'],
  ])('a wrong one is named: %j', (context, message) => {
    expect(() => withContext(context)).toThrow(message);
  });
});

describe('resources of your own take the place of those of the service', () => {
  const stack = ownStack();
  const domain = new DomainName(stack, 'Domain', {
    domainName: 'login.example.com',
    certificate: Certificate.fromCertificateArn(stack, 'Certificate', withEdge.certificateArn),
  });
  const given = {
    table: new TableV2(stack, 'People', tableShape),
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
