import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { build } from 'esbuild';
import * as v from 'valibot';
import { functionsWithoutRoute } from '../../infra/stack/functions-without-route.ts';
import { LoginService } from '../../infra/stack/login-service.ts';
import type { Access } from '../../infra/stack/service-function.ts';
import { routes, type SecretName } from '../../lib/routes.ts';
import { table } from '../../lib/storage/table.ts';

const root = join(import.meta.dirname, '../..');
const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), 'utf8'));
const stemsIn = (folder: string, extension: string): string[] =>
  readdirSync(join(root, folder)).map((file) => file.replace(extension, ''));

const { context } = v.parse(v.object({ context: v.record(v.string(), v.unknown()) }), readJson('cdk.json'));
// Bundling takes seconds; `npm run synth` does it.
const app = new App({ context: { ...context, 'aws:cdk:bundling-stacks': [] } });
const template = Template.fromStack(new LoginService(app, 'a-stack'));

/** The properties of all resources of a type, with their logical ids. */
const resources = <Schema extends v.GenericSchema>(type: string, schema: Schema) =>
  Object.entries(template.findResources(type)).map(([id, resource]) => {
    const properties: unknown = resource.Properties;
    return { id, properties: v.parse(schema, properties) };
  });

const functions = resources(
  'AWS::Lambda::Function',
  v.object({
    Runtime: v.string(),
    Architectures: v.array(v.string()),
    Handler: v.string(),
    Timeout: v.number(),
    MemorySize: v.number(),
    Role: v.unknown(),
    LoggingConfig: v.object({ LogGroup: v.unknown() }),
    Environment: v.object({ Variables: v.record(v.string(), v.unknown()) }),
    FunctionName: v.optional(v.string()),
  }),
);

const policies = resources(
  'AWS::IAM::Policy',
  v.object({
    Roles: v.array(v.unknown()),
    PolicyDocument: v.object({
      Statement: v.array(
        v.object({
          Effect: v.literal('Allow'),
          Action: v.union([v.string(), v.array(v.string())]),
          Resource: v.unknown(),
        }),
      ),
    }),
  }),
);

const ref = v.object({ Ref: v.string() });
const getAtt = v.object({ 'Fn::GetAtt': v.tuple([v.string(), v.string()]) });
const joined = v.object({ 'Fn::Join': v.tuple([v.literal(''), v.array(v.unknown())]) });

/** What an intrinsic function of the template is about: a logical id, and what is written around it. */
function text(value: unknown): string {
  if (v.is(ref, value)) return value.Ref;
  if (v.is(getAtt, value)) return value['Fn::GetAtt'][0];
  if (v.is(joined, value)) return value['Fn::Join'][1].map(text).join('');
  return v.parse(v.string(), value);
}

/** The same without the hashes that CDK puts at the ends of logical ids. */
const readable = (value: unknown): string => text(value).replace(/[0-9A-F]{8}(?=$|\/)/, '');

const listed = (value: unknown): unknown[] => (Array.isArray(value) ? value : [value]);

/** All that a role may do, one line per action and resource: `dynamodb:Query Table/index/by_actor`. */
const rightsOf = (role: unknown): string[] =>
  policies
    .filter(({ properties }) => properties.Roles.map(text).includes(text(role)))
    .flatMap(({ properties }) => properties.PolicyDocument.Statement)
    .flatMap(({ Action, Resource }) =>
      listed(Action).flatMap((action) => listed(Resource).map((on) => `${action} ${readable(on)}`)),
    )
    .sort();

const logicalIdOf = (key: string): string =>
  key.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());

const named = (key: string) => {
  const found = functions.find(({ id }) => id === logicalIdOf(key));
  if (!found) throw new Error(`The template has no function for ${key}.`);
  return found.properties;
};

/** The code of a function as a bundle has it: without what it can never reach. */
async function reachableCode(key: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(root, `functions/${key}.ts`)],
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    write: false,
  });
  return outputFiles.map((file) => file.text).join('');
}

const matches = (code: string, pattern: RegExp): string[] =>
  [...new Set([...code.matchAll(pattern)].map(([, found]) => found ?? ''))].sort();

const accesses: [string, Access][] = Object.entries({ ...routes, ...functionsWithoutRoute });
const indexNames = [...Object.keys(table.localIndexes), ...Object.keys(table.globalIndexes)];
const secretIds: Record<SecretName, string> = {
  'signing-keys': 'SecretsSigningKeys',
  'service-secret': 'SecretsServiceSecret',
};

describe('endpoints', () => {
  const apiRoutes = resources(
    'AWS::ApiGatewayV2::Route',
    v.object({ RouteKey: v.string(), Target: v.unknown() }),
  );
  const integrations = resources(
    'AWS::ApiGatewayV2::Integration',
    v.object({ IntegrationUri: v.unknown(), PayloadFormatVersion: v.string() }),
  );

  test('every row of the route table is a route of the API to the function of its name, and there are no others', () => {
    const inTemplate = apiRoutes.map(({ properties: { RouteKey, Target } }) => {
      const integration = integrations.find(({ id }) => text(Target) === `integrations/${id}`)?.properties;
      return [RouteKey, text(integration?.IntegrationUri), integration?.PayloadFormatVersion];
    });
    const inTable = Object.entries(routes).map(([key, { method, path }]) => [
      `${method} ${path}`,
      logicalIdOf(key),
      '2.0',
    ]);
    expect(inTemplate.sort()).toEqual(inTable.sort());
  });

  test('every row has a handler file, and every handler file is a row or a function without a route', () => {
    expect(stemsIn('functions', '.ts').sort()).toEqual(accesses.map(([key]) => key).sort());
    expect(functions.map(({ id }) => id).sort()).toEqual(accesses.map(([key]) => logicalIdOf(key)).sort());
  });

  test('every row has an event file', () => {
    expect(stemsIn('test/events', '.json').sort()).toEqual(Object.keys(routes).sort());
  });

  test.each(Object.entries(routes))('the event file of %s is a request to it', (key, { method, path }) => {
    const event = v.parse(eventFile, readJson(`test/events/${key}.json`));
    const routeKey = `${method} ${path}`;
    const rawPath = path.replace('{access_request_id}', '1').replace('{device_id}', `d_${'A'.repeat(43)}`);
    expect(event).toMatchObject({
      version: '2.0',
      routeKey,
      rawPath,
      requestContext: { routeKey, http: { method, path: rawPath } },
    });
    // The gateway hands on forms, and nothing else that is sent here, in base64.
    expect(event.isBase64Encoded).toBe(event.headers['content-type'] === 'application/x-www-form-urlencoded');
  });
});

const eventFile = v.looseObject({ headers: v.record(v.string(), v.string()), isBase64Encoded: v.boolean() });

describe('functions', () => {
  test.each(accesses)('%s runs on Node 24 on arm64 for at most 10 seconds', (key) => {
    expect(named(key)).toMatchObject({
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
      Timeout: 10,
      MemorySize: 1024,
    });
  });

  test.each(accesses)('%s has a log of its own, kept for 90 days', (key) => {
    const logGroups = resources(
      'AWS::Logs::LogGroup',
      v.object({ LogGroupName: v.string(), RetentionInDays: v.number() }),
    );
    const own = logGroups.find(({ id }) => id === text(named(key).LoggingConfig.LogGroup));
    expect(own?.properties).toEqual({ LogGroupName: `/a-stack/${key}`, RetentionInDays: 90 });
    expect(logGroups).toHaveLength(functions.length);
  });

  test.each(accesses)('%s may do what its access says, write its log, and nothing else', (key, access) => {
    const log = `${key.replaceAll('-', '')}Log`;
    const rotation = ['DescribeSecret', 'GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'];
    expect(rightsOf(named(key).Role)).toEqual(
      [
        ...access.tableActions.map((action) => `dynamodb:${action} Table`),
        ...(access.tableActions.includes('Query')
          ? indexNames.map((name) => `dynamodb:Query Table/index/${name}`)
          : []),
        ...access.secrets.map((name) => `secretsmanager:GetSecretValue ${secretIds[name]}`),
        ...(key === 'rotate-signing-keys'
          ? rotation.map((action) => `secretsmanager:${action} ${secretIds['signing-keys']}`)
          : []),
        `logs:CreateLogStream ${log}`,
        `logs:PutLogEvents ${log}`,
      ].sort(),
    );
  });

  test.each(accesses)('%s may do with the table what its code can ask for', async (key, { tableActions }) => {
    const commands = matches(
      await reachableCode(key),
      /new (Get|BatchGet|Query|Put|Update|Delete)Command\b/g,
    );
    const actions = commands.map((command) => (command === 'Query' ? command : `${command}Item`));
    expect([...tableActions].sort()).toEqual(actions);
  });

  test.each(accesses)('%s is told every variable that its code asks for', async (key) => {
    const variables = matches(await reachableCode(key), /environment\("(\w+)"\)/g);
    expect(Object.keys(named(key).Environment.Variables)).toEqual(expect.arrayContaining(variables));
  });

  test('have no rights by other ways: no wildcards, no managed policies, no shared roles', () => {
    const rights = functions.flatMap(({ properties }) => rightsOf(properties.Role));
    expect(rights.filter((right) => right.includes('*'))).toEqual([]);
    const roles = resources('AWS::IAM::Role', v.record(v.string(), v.unknown()));
    for (const { properties } of roles) expect(Object.keys(properties)).toEqual(['AssumeRolePolicyDocument']);
    expect(new Set(functions.map(({ properties }) => text(properties.Role))).size).toBe(roles.length);
    expect(policies).toHaveLength(roles.length);
  });

  test.each([
    ['SecretsSigningKeys', ['IssueToken', 'RotateSigningKeys']],
    ['SecretsServiceSecret', ['IntrospectToken', 'IssueToken', 'Operator', 'RevokeToken']],
  ])('%s is read by %j alone', (secret, readers) => {
    const mayRead = functions.filter(({ properties }) =>
      rightsOf(properties.Role).includes(`secretsmanager:GetSecretValue ${secret}`),
    );
    expect(mayRead.map(({ id }) => id).sort()).toEqual(readers);
  });

  test.each([
    ['issue-token', ['ISSUER', 'SERVICE_SECRET_ID', 'SIGNING_KEYS_SECRET_ID', 'TABLE_NAME']],
    ['register-device', ['ISSUER', 'TABLE_NAME']],
    ['operator', ['SERVICE_SECRET_ID', 'TABLE_NAME']],
    ['rotate-signing-keys', ['TABLE_NAME']],
  ])('%s is told %j', (key, variables) => {
    expect(Object.keys(named(key).Environment.Variables).sort()).toEqual(variables);
  });

  test('the issuer is the address of the API', () => {
    expect(named('issue-token').Environment.Variables.ISSUER).toEqual({
      'Fn::GetAtt': [expect.stringMatching(/^Api/), 'ApiEndpoint'],
    });
  });

  test('the operator finds its function by the name of the stack', () => {
    expect(named('operator').FunctionName).toBe('a-stack-operator');
  });
});

describe('the table', () => {
  test('is on demand, encrypted, recoverable and protected, and outlives the stack', () => {
    template.allResourcesProperties('AWS::DynamoDB::Table', {
      BillingMode: 'PAY_PER_REQUEST',
      SSESpecification: { SSEEnabled: true },
      PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      DeletionProtectionEnabled: true,
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
    template.hasResourceProperties('AWS::DynamoDB::Table', {
      KeySchema: key('pk', 'sk'),
      LocalSecondaryIndexes: Object.entries(table.localIndexes).map(([name, { sortKey, projection }]) => ({
        IndexName: name,
        KeySchema: key('pk', sortKey),
        Projection: { ProjectionType: projection },
      })),
      GlobalSecondaryIndexes: [
        {
          IndexName: 'by_list',
          KeySchema: key('list', 'list_position'),
          Projection: { ProjectionType: 'KEYS_ONLY' },
        },
        {
          IndexName: 'by_piece',
          KeySchema: key('piece', 'piece_position'),
          Projection: { ProjectionType: 'ALL' },
        },
      ],
    });
  });
});

describe('the secrets', () => {
  test('outlive the stack', () => {
    template.allResources('AWS::SecretsManager::Secret', {
      DeletionPolicy: 'Retain',
      UpdateReplacePolicy: 'Retain',
    });
    template.resourceCountIs('AWS::SecretsManager::Secret', 2);
  });

  // CloudFormation puts a new value in the place of the old one whenever this changes.
  test('are generated as they were in every deployment before', () => {
    const secrets = resources('AWS::SecretsManager::Secret', v.object({ GenerateSecretString: v.unknown() }));
    expect(secrets.map(({ id, properties }) => [id, properties.GenerateSecretString])).toEqual([
      ['SecretsSigningKeys20695C0E', {}],
      ['SecretsServiceSecret57A12CFA', { ExcludePunctuation: true, PasswordLength: 64 }],
    ]);
  });

  test('the signing keys are made at the first deployment and rotated every 30 days', () => {
    const schedules = resources('AWS::SecretsManager::RotationSchedule', v.record(v.string(), v.unknown()));
    expect(schedules.map(({ properties }) => properties)).toEqual([
      {
        SecretId: { Ref: 'SecretsSigningKeys20695C0E' },
        RotationLambdaARN: { 'Fn::GetAtt': ['RotateSigningKeys', 'Arn'] },
        RotationRules: { ScheduleExpression: 'rate(30 days)' },
        RotateImmediatelyOnUpdate: true,
      },
    ]);
  });

  test('Secrets Manager invokes the rotation for the signing keys of this account alone', () => {
    template.hasResourceProperties('AWS::Lambda::Permission', {
      FunctionName: { 'Fn::GetAtt': ['RotateSigningKeys', 'Arn'] },
      Principal: 'secretsmanager.amazonaws.com',
      SourceAccount: { Ref: 'AWS::AccountId' },
      SourceArn: { Ref: 'SecretsSigningKeys20695C0E' },
    });
  });
});

test('a deployment tells its address, its table and its operator function', () => {
  expect(Object.keys(template.findOutputs('*')).sort()).toEqual([
    'ApiUrl',
    'OperatorFunctionName',
    'TableName',
  ]);
});
