import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { NestedStack, type Stack } from 'aws-cdk-lib';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { DomainName } from 'aws-cdk-lib/aws-apigatewayv2';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import {
  AttributeType,
  ProjectionType,
  StreamViewType,
  Table,
  type TablePropsV2,
  TableV2,
} from 'aws-cdk-lib/aws-dynamodb';
import { Port, SecurityGroup, Vpc } from 'aws-cdk-lib/aws-ec2';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { Topic } from 'aws-cdk-lib/aws-sns';
import keyPolicy from '../../docs/policies/kms-key.json' with { type: 'json' };
import { pascal, readFunctions } from '../../infra/endpoints.ts';
import { Edge } from '../../infra/stack/edge.ts';
import { LoginService } from '../../infra/stack/login-service.ts';
import type { LoginServiceProps } from '../../infra/stack/service-props.ts';
import { shortcomingsOf, tableShape } from '../../infra/stack/table-shape.ts';
import { codeBlock } from '../support/code-blocks.ts';
import { withEdge, withKey } from '../support/deployments.ts';
import { embeddedApp, knownVpc, newApp, ownStack } from '../support/embedded-app.ts';

const { endpoints, others } = readFunctions();

/** Props as an app without types may give them. */
type AnyProps = LoginServiceProps & Record<string, unknown>;

const untyped = (props: object): AnyProps => ({ ...props });

const serviceIn = (stack: Stack, props: AnyProps = {}): LoginService =>
  new LoginService(stack, 'Login', props);

const reference = (id: string) => Match.stringLikeRegexp(`^${id}[0-9A-F]{8}$`);
const arnOf = (id: string) => ({ 'Fn::GetAtt': [reference(id), 'Arn'] });

/** The properties of all resources of a type. */
const propertiesOf = (template: Template, type: string) =>
  Object.values(template.findResources(type)).map(({ Properties }) => Properties);

const own = embeddedApp();
const template = Template.fromStack(own.stack);
const edge = Template.fromStack(own.edge);

// The resources that the service uses together with its own.
const mixed = ownStack();
const certificate = new Certificate(mixed, 'Mine', { domainName: 'login.example.com' });
const decide = new LambdaFunction(mixed, 'Decide', {
  runtime: Runtime.NODEJS_24_X,
  handler: 'index.handler',
  code: Code.fromInline('exports.handler = async () => ({});'),
});
const vpc = knownVpc(mixed);
const securityGroup = new SecurityGroup(mixed, 'Group', { vpc });
const mixedService = serviceIn(mixed, {
  domainName: 'login.example.com',
  certificate,
  encryptionKey: new Key(mixed, 'Key'),
  loginHook: decide.addAlias('live'),
  vpc,
  vpcSubnets: { subnets: vpc.privateSubnets.slice(0, 1) },
  securityGroups: [securityGroup],
});
new SecurityGroup(mixed, 'Endpoint', { vpc }).connections.allowFrom(mixedService, Port.tcp(443));
const mixedTemplate = Template.fromStack(mixed);

test('certificate: the certificate of the domain, which the app may make', () => {
  mixedTemplate.hasResourceProperties('AWS::ApiGatewayV2::DomainName', {
    DomainName: 'login.example.com',
    DomainNameConfigurations: [{ CertificateArn: { Ref: reference('Mine') } }],
  });
});

describe('encryptionKey: a key of the app', () => {
  test.each([
    ['AWS::SecretsManager::Secret', { KmsKeyId: arnOf('Key') }],
    ['AWS::Logs::LogGroup', { KmsKeyId: arnOf('Key') }],
    ['AWS::SNS::Topic', { KmsMasterKeyId: { 'Fn::GetAtt': [reference('Key'), 'Arn'] } }],
    ['AWS::SQS::Queue', { KmsMasterKeyId: arnOf('Key') }],
  ])('encrypts every %s', (type, properties) => {
    template.allResourcesProperties(type, properties);
  });

  test('encrypts the table of the service', () => {
    mixedTemplate.hasResourceProperties('AWS::DynamoDB::Table', {
      SSESpecification: { KMSMasterKeyId: arnOf('Key') },
    });
  });

  test('gets all statements for services that the page has for a key of your own', () => {
    const [{ KeyPolicy }] = propertiesOf(template, 'AWS::KMS::Key');
    const lacking = keyPolicy.Statement.filter(
      ({ Sid, ...needed }) =>
        !KeyPolicy.Statement.some((one: unknown) => isDeepStrictEqual(one, needed)),
    );
    expect(lacking).toEqual([]);
  });
});

describe('loginHook: a function of the app, or an alias of one', () => {
  const imported = 'arn:aws:lambda:eu-central-1:123456789012:function:login-hook';

  test.each([
    ['a function', template, imported],
    ['an alias', mixedTemplate, { Ref: reference('DecideAliaslive') }],
  ])('%s is asked by those that may', (_, one, arn) => {
    const asking = one.findResources('AWS::Lambda::Function', {
      Properties: { Environment: { Variables: { LOGIN_HOOK: arn, LOGIN_HOOK_ON: 'refresh' } } },
    });
    expect(Object.keys(asking).sort()).toEqual(['IssueToken', 'LinkIdentity', 'MergeLoginUsers']);
    const invoke = { Action: 'lambda:InvokeFunction', Effect: 'Allow', Resource: arn };
    const allowed = one.findResources('AWS::IAM::Policy', {
      Properties: { PolicyDocument: { Statement: Match.arrayWith([invoke]) } },
    });
    expect(Object.keys(allowed)).toHaveLength(3);
  });

  test('has the alarm of any hook', () => {
    Template.fromStack(mixedService.watching).hasResourceProperties('AWS::CloudWatch::Alarm', {
      AlarmDescription: 'LoginHookFailed: see docs/watching.md',
    });
  });
});

describe('vpc: the network of the functions that call out', () => {
  const calling = [...endpoints, ...others]
    .filter(([, { callsProviders, asksLoginHook }]) => callsProviders || asksLoginHook)
    .map(([key]) => pascal(key));
  const inVpc = (one: Template, VpcConfig: unknown = Match.anyValue()): string[] =>
    Object.keys(one.findResources('AWS::Lambda::Function', { Properties: { VpcConfig } }));

  test('has those that call providers or the hook, and no other', () => {
    expect(inVpc(template).sort()).toEqual(calling.sort());
  });

  test('has its private subnets, and one security group that lets nothing in', () => {
    template.resourceCountIs('AWS::EC2::SecurityGroup', 1);
    template.hasResourceProperties('AWS::EC2::SecurityGroup', {
      VpcId: 'vpc-12345678',
      SecurityGroupIngress: Match.absent(),
    });
    const VpcConfig = {
      SubnetIds: ['subnet-11111111', 'subnet-22222222'],
      SecurityGroupIds: [{ 'Fn::GetAtt': [reference('LoginOutbound'), 'GroupId'] }],
    };
    expect(inVpc(template, VpcConfig)).toEqual(inVpc(template));
  });

  test('has the subnets and security groups of the app instead', () => {
    mixedTemplate.resourceCountIs('AWS::EC2::SecurityGroup', 2);
    const VpcConfig = {
      SubnetIds: ['subnet-11111111'],
      SecurityGroupIds: [{ 'Fn::GetAtt': [reference('Group'), 'GroupId'] }],
    };
    expect(inVpc(mixedTemplate, VpcConfig).sort()).toEqual(calling.sort());
  });

  test('lets others in the app admit the functions by the connections of the service', () => {
    mixedTemplate.hasResourceProperties('AWS::EC2::SecurityGroupIngress', {
      GroupId: { 'Fn::GetAtt': [reference('Endpoint'), 'GroupId'] },
      SourceSecurityGroupId: { 'Fn::GetAtt': [reference('Group'), 'GroupId'] },
    });
    const without = serviceIn(ownStack());
    expect(() => without.connections).toThrow(
      'LoginService accounts/Login: the prop vpc must be given, since connections are those in it.',
    );
  });

  test('lets Lambda use network interfaces, but not the code of a function', () => {
    const about = propertiesOf(template, 'AWS::IAM::Policy')
      .flatMap(({ PolicyDocument }) => PolicyDocument.Statement)
      .filter(({ Action }) => [Action].flat().some((one) => String(one).startsWith('ec2:')));
    const [{ Sid, ...documented }] = JSON.parse(codeBlock('embedding.md', 'json', 'A VPC'));
    const Condition = { Null: { 'lambda:SourceFunctionArn': 'true' } };
    expect(about).toEqual(calling.map(() => ({ ...documented, Condition })));
  });

  test('has the functions that the page names', () => {
    const [, part = ''] = readFileSync('docs/embedding.md', 'utf8').split('### A VPC');
    const [sentence = ''] = part.split('.');
    const named = [...sentence.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => pascal(name));
    expect(named.slice(1).sort()).toEqual(calling.sort());
  });
});

describe('table: a table that the app makes', () => {
  const { globalSecondaryIndexes, localSecondaryIndexes, ...rest } = tableShape;

  test('of tableShape has the keys, indexes, stream and time to live of the service', () => {
    const [mine] = propertiesOf(template, 'AWS::DynamoDB::GlobalTable');
    const [its] = propertiesOf(mixedTemplate, 'AWS::DynamoDB::Table');
    for (const property of [
      'KeySchema',
      'LocalSecondaryIndexes',
      'GlobalSecondaryIndexes',
      'StreamSpecification',
      'TimeToLiveSpecification',
    ])
      expect(mine[property]).toEqual(its[property]);
  });

  test.each<[string, TablePropsV2]>([
    [
      'the key HASH pk (S), RANGE sk (S), not HASH id (S), RANGE sk (S)',
      { ...tableShape, partitionKey: { name: 'id', type: AttributeType.STRING } },
    ],
    [
      'the global index by_list: HASH list (S), RANGE list_position (S), projection KEYS_ONLY',
      { ...rest, localSecondaryIndexes },
    ],
    [
      'the local index by_actor: HASH pk (S), RANGE actor_ordinal (S), projection ALL',
      { ...rest, globalSecondaryIndexes },
    ],
    [
      'the global index by_shard: HASH shard (S), RANGE shard_position (S), projection ALL, not HASH shard (S), RANGE shard_position (S), projection KEYS_ONLY',
      {
        ...tableShape,
        globalSecondaryIndexes: globalSecondaryIndexes.map((one) => ({
          ...one,
          projectionType: ProjectionType.KEYS_ONLY,
        })),
      },
    ],
    [
      'a stream of NEW_AND_OLD_IMAGES, not NEW_IMAGE',
      { ...tableShape, dynamoStream: StreamViewType.NEW_IMAGE },
    ],
    ['the time to live expires_at, not ttl', { ...tableShape, timeToLiveAttribute: 'ttl' }],
  ])('lacks %s', (lack, props) => {
    const people = new TableV2(ownStack(), 'People', props);
    expect(shortcomingsOf(people, true)).toContain(`must have ${lack}`);
  });

  test('may project more, and needs no stream without events', () => {
    const { partitionKey, sortKey, timeToLiveAttribute } = tableShape;
    const people = new Table(ownStack(), 'People', { partitionKey, sortKey, timeToLiveAttribute });
    for (const one of localSecondaryIndexes) people.addLocalSecondaryIndex(one);
    for (const one of globalSecondaryIndexes)
      people.addGlobalSecondaryIndex({ ...one, projectionType: ProjectionType.ALL });
    expect(shortcomingsOf(people, false)).toEqual([]);
    expect(shortcomingsOf(people, true)).toEqual(['must have a stream of NEW_AND_OLD_IMAGES']);
  });

  test('has until the synthesis to get what it lacks, which then ends it', () => {
    const stack = ownStack();
    const [byList, byShard] = globalSecondaryIndexes;
    if (!byList || !byShard) throw new Error('An index is missing.');
    const people = new TableV2(stack, 'People', {
      ...tableShape,
      globalSecondaryIndexes: [byShard],
    });
    serviceIn(stack, { table: people });
    expect(() => Template.fromStack(stack)).toThrow(
      '[accounts/Login] the prop table must have the global index by_list',
    );
    people.addGlobalSecondaryIndex(byList);
    expect(() => Template.fromStack(stack)).not.toThrow();
  });
});

describe('edge: CloudFront in front of a domain of the app', () => {
  test('has its name, and leads to the output of the service', () => {
    edge.hasResourceProperties('AWS::CloudFront::Distribution', {
      DistributionConfig: {
        Aliases: ['login.example.com'],
        Origins: [
          Match.objectLike({
            DomainName: {
              'Fn::GetStackOutput': Match.objectLike({ OutputName: 'DomainTarget' }),
            },
          }),
        ],
      },
    });
    template.hasOutput('DomainTarget', {
      Value: { 'Fn::GetAtt': [reference('Domain'), 'RegionalDomainName'] },
    });
  });

  test('has a certificate and a key of the app in us-east-1, whose policy lets the logs use it', () => {
    const shared = (id: string) => ({
      'Fn::GetStackOutput': Match.objectLike({
        StackName: 'certificates',
        OutputName: Match.stringLikeRegexp(`${id}[0-9A-F]{8}`),
      }),
    });
    edge.hasResourceProperties('AWS::CloudFront::Distribution', {
      DistributionConfig: { ViewerCertificate: { AcmCertificateArn: shared('Certificate') } },
    });
    edge.allResourcesProperties('AWS::Logs::LogGroup', { KmsKeyId: shared('Key') });
    Template.fromStack(own.edgeStack).hasResourceProperties('AWS::KMS::Key', {
      KeyPolicy: {
        Statement: Match.arrayWith([
          Match.objectLike({ Principal: { Service: 'logs.us-east-1.amazonaws.com' } }),
        ]),
      },
    });
  });

  test('shows its distribution and its web ACL', () => {
    const { distribution, webAcl } = own.edge;
    expect(own.edge.resolve([distribution.distributionId, webAcl.attrArn])).toEqual([
      { Ref: expect.stringMatching(/^Distribution/) },
      { 'Fn::GetAtt': ['WebAcl', 'Arn'] },
    ]);
  });

  test('is a second stack of the same app, with the tags of the first', () => {
    const app = newApp();
    const { account, region, ...settings } = withEdge;
    const stack = ownStack('accounts', app);
    stack.tags.setTag('team', 'login');
    const second = new Edge(app, serviceIn(stack, settings));
    expect([second.stackName, second.region]).toEqual(['accounts-edge', 'us-east-1']);
    expect(second.tags.tagValues()).toMatchObject({ team: 'login' });
  });

  test('is none for a service without it', () => {
    const app = newApp();
    const service = serviceIn(ownStack('accounts', app));
    expect(() => new Edge(app, service)).toThrow(
      'LoginService accounts/Login: the prop edge must be true for an Edge.',
    );
  });
});

describe('what is wrong is an error at synth, in the words of the app', () => {
  const elsewhere = ownStack('elsewhere', newApp(), 'us-east-1');
  const stack = ownStack('resources');
  const table = Table.fromTableName(stack, 'Table', 'people');
  const domain = DomainName.fromDomainNameAttributes(stack, 'Domain', {
    name: 'login.example.com',
    regionalDomainName: 'd-1.execute-api.eu-central-1.amazonaws.com',
    regionalHostedZoneId: 'Z1',
  });
  const eventBus = EventBus.fromEventBusName(stack, 'Bus', 'company');
  const foreignBus = EventBus.fromEventBusArn(
    stack,
    'Foreign',
    'arn:aws:events:eu-central-1:210987654321:event-bus/company',
  );
  const known = Certificate.fromCertificateArn(stack, 'Known', withEdge.certificateArn);
  const key = new Key(stack, 'Key');
  const publicVpc = Vpc.fromVpcAttributes(stack, 'Public', {
    vpcId: 'vpc-1',
    availabilityZones: ['eu-central-1a'],
    publicSubnetIds: ['subnet-1'],
  });
  const { domainName, certificateArn } = withEdge;
  const hookArn = 'arn:aws:lambda:us-east-1:123456789012:function:hook';
  const hookElsewhere = LambdaFunction.fromFunctionArn(stack, 'Elsewhere', hookArn);
  const certificateElsewhere = new Certificate(elsewhere, 'Certificate', { domainName });

  test.each<[string, AnyProps]>([
    ['rateLimit must be a whole number from 1 to 100000, not 0', { rateLimit: 0 }],
    ["alarmEmail must be an e-mail address, not 'ops'", { alarmEmail: 'ops' }],
    [
      `alarmEmail must be an e-mail address, not '${'x'.repeat(99)}…`,
      { alarmEmail: 'x'.repeat(200) },
    ],
    [
      'alarmEmail must be an e-mail address, not the construct resources/Topic',
      untyped({ alarmEmail: new Topic(stack, 'Topic') }),
    ],
    [
      'rateLimits is unknown; docs/embedding.md and docs/settings.md list them all',
      { rateLimits: 5 },
    ],
    ['tags is the prop tags of the stack', { tags: { team: 'login' } }],
    ['account is the prop env of the stack', { account: '123456789012' }],
    [
      "replicaRegions must be names of regions, separated by commas, not [ 'Frankfurt' ]",
      { replicaRegions: ['Frankfurt'] },
    ],
    ['sessionIdleSeconds must be at most sessionAbsoluteSeconds', { sessionAbsoluteSeconds: 7200 }],
    // Somebody may give the secret itself.
    [
      'originSecretHashes must be one or two SHA-256 hashes in lower-case hex, separated by a comma',
      { originSecretHashes: 'the secret' },
    ],
    ["table must be a table of DynamoDB (ITable), not 'people'", untyped({ table: 'people' })],
    [
      'table must have a stream, unless publishEvents is false: import it by its tableStreamArn, too',
      { table },
    ],
    ['tableName must not come with table', { table, publishEvents: false, tableName: 'people' }],
    ['maxWriteUnits must not come with table', { table, publishEvents: false, maxWriteUnits: 5 }],
    ['domainName must not come with domain', { domain, domainName }],
    ['domain must not come with certificate', { domain, certificate: known }],
    [
      'domain must be a domain of aws-apigatewayv2 (IDomainName), not the construct resources/Known',
      untyped({ domain: known }),
    ],
    ['domainName or domain must come with certificate', { certificate: known }],
    ['certificateArn or certificate must come with domainName', { domainName }],
    [
      'certificateArn must not come with certificate',
      { certificate: known, certificateArn, domainName },
    ],
    [
      'certificate must be in the region eu-central-1, not in us-east-1',
      { certificate: certificateElsewhere, domainName },
    ],
    ['kmsKeyArn must not come with encryptionKey', { encryptionKey: key, ...withKey }],
    [
      'kmsKeyArn must be the ARN of a KMS key, not a value that only CloudFormation knows; there is the prop encryptionKey',
      { kmsKeyArn: key.keyArn },
    ],
    [
      'encryptionKey must be in the region eu-central-1, not in us-east-1',
      { encryptionKey: new Key(elsewhere, 'Key') },
    ],
    [
      `loginHook must name a function in the region of the deployment, not '${hookArn}'`,
      { loginHook: hookArn },
    ],
    [
      'loginHook must be in the region eu-central-1, not in us-east-1',
      { loginHook: hookElsewhere },
    ],
    [
      'loginHook must be a function of Lambda (IFunction), or the name or ARN of one, not the construct resources/Key',
      untyped({ loginHook: key }),
    ],
    ['eventBus must come with publishEvents', { eventBus, publishEvents: false }],
    [
      'archiveDays must not come with the bus of another account',
      { eventBus: foreignBus, archiveDays: 5 },
    ],
    ['securityGroups must come with vpc', { securityGroups: [] }],
    ['securityGroups must be absent or have at least one', { vpc, securityGroups: [] }],
    [
      'vpc must have private subnets: in a public one, a function reaches nothing',
      { vpc: publicVpc },
    ],
    ['domainName or domain must come with edge', { edge: true }],
    ['edgeCertificateArn or edgeCertificate must come with edge', { edge: true, domain }],
    [
      'edgeCertificate must be in the region us-east-1, not in eu-central-1',
      { edge: true, domain, edgeCertificate: known },
    ],
  ])('%s', (message, props) => {
    expect(() => serviceIn(ownStack(), props)).toThrow(
      `LoginService accounts/Login: the prop ${message}.`,
    );
  });

  test('a name of the stack that its resources cannot have', () => {
    const name = 'a'.repeat(41);
    expect(() => serviceIn(ownStack(name))).toThrow(
      `LoginService ${name}/Login: the prop stackName of the stack must be letters, digits and hyphens, at most 40, not '${name}'.`,
    );
  });

  test('an edge of a stack that could be anywhere', () => {
    const { account, region, ...settings } = withEdge;
    const anywhere = ownStack('accounts', newApp(), null);
    expect(() => serviceIn(anywhere, settings)).toThrow(
      'the prop edge must come with an account and a region in the env of the stack.',
    );
  });

  test('a second service in a stack, and one in a nested stack', () => {
    const one = ownStack();
    new LoginService(one, 'Login');
    const why = 'a service has the name of its stack.';
    expect(() => new LoginService(one, 'Second')).toThrow(
      `LoginService accounts/Second: it must be in a stack of its own: accounts has accounts/Login, and ${why}`,
    );
    const nested = new NestedStack(ownStack(), 'Nested');
    expect(() => serviceIn(nested)).toThrow(
      `LoginService accounts/Nested/Login: it must not be in a nested stack: ${why}`,
    );
  });
});
