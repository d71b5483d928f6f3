import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { build } from 'esbuild';
import * as v from 'valibot';
import { pascal, readFunctions } from '../../infra/endpoints.ts';
import { tableRightsOf } from '../../infra/table-rights.ts';
import { type Access, isAudited, type SecretName } from '../../lib/http/endpoint.ts';
import {
  accessRequestKey,
  issuerKeysKey,
  listEntryKey,
  publicSigningKeysKey,
} from '../../lib/storage/keys.ts';
import { table as storage } from '../../lib/storage/table.ts';
import { everything } from '../support/deployments.ts';
import {
  functions,
  isLike,
  mayOn,
  named,
  policies,
  resources,
  rightsOf,
  roles,
  root,
  template,
  templateWith,
  text,
  watchingWith,
} from '../support/template.ts';

const { endpoints, others } = readFunctions();

/** The statements of a template that let its roles invoke a function. */
const invocationRights = (one: Template): object[] =>
  Object.values(one.findResources('AWS::IAM::Policy'))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
    .filter(({ Action }) => Action === 'lambda:InvokeFunction');

const accesses: [string, Access][] = [...endpoints, ...others];

const secretIds: Record<SecretName, string> = {
  'signing-keys': 'SecretsSigningKeys',
  'refresh-tokens': 'SecretsRefreshTokens',
  'provider-settings': 'SecretsProviderSettings',
};

/** What the rotation of these secrets may do with each. */
const rotationOf = (...names: SecretName[]): string[] =>
  names.flatMap((name) =>
    ['DescribeSecret', 'GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'].map(
      (action) => `secretsmanager:${action} ${secretIds[name]}`,
    ),
  );

/** The functions whose new versions are tried before they get requests. */
const tried = [...endpoints.keys()];
const lookingAtAliases =
  'lambda:GetAlias arn:AWS::Partition:lambda:AWS::Region:AWS::AccountId:function:a-stack-*';

/** What a function may do beyond what its access says. */
const ownRights: Record<string, unknown[]> = {
  'rotate-signing-keys': rotationOf('signing-keys'),
  'rotate-service-secrets': rotationOf('refresh-tokens', 'provider-settings'),
  'await-signing-keys': [`secretsmanager:DescribeSecret ${secretIds['signing-keys']}`],
  operator: ['lambda:InvokeFunction RotateSigningKeys'],
  'publish-events': [
    ...['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams'].map(
      (action) => `dynamodb:${action} Table`,
    ),
    'events:PutEvents EventPublishingBus',
    'sqs:SendMessage EventPublishingDeadLetters',
  ],
  'forward-audit': [
    'logs:CreateLogStream AuditLog',
    'logs:PutLogEvents AuditLog',
    'sqs:SendMessage AuditUndelivered',
  ],
  'check-new-versions': [
    ...tried.map((key) => `lambda:InvokeFunction ${pascal(key)}:*`),
    'cloudformation:DescribeStacks AWS::StackId',
  ],
  'guard-table-format': [
    lookingAtAliases,
    'cloudformation:DescribeStacks AWS::StackId',
    'cloudformation:ListStackResources AWS::StackId',
  ],
};

/** The code of a function as a bundle has it: without what it can never reach. */
async function reachableCodeOf(key: string): Promise<string> {
  const { outputFiles } = await build({
    // Each for itself: esbuild keeps for one entry point what another can reach.
    entryPoints: [join(root, `functions/${key}.ts`)],
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    write: false,
  });
  return outputFiles.map((file) => file.text).join('');
}
const reachableCode = new Map(
  await Promise.all(accesses.map(async ([key]) => [key, await reachableCodeOf(key)] as const)),
);

const matches = (code: string, pattern: RegExp): string[] =>
  [...new Set([...code.matchAll(pattern)].map(([, found]) => found ?? ''))].sort();

const indexNames = [...Object.keys(storage.localIndexes), ...Object.keys(storage.globalIndexes)];

describe('functions', () => {
  const logNames = new Map(
    resources('AWS::Logs::LogGroup', v.object({ LogGroupName: v.optional(v.string()) })).map(
      ({ id, properties }) => [id, properties.LogGroupName],
    ),
  );
  test.each(accesses)(
    '%s runs on Node 24 on arm64, with a log of its own, those that serve requests for at most 10 seconds',
    (key, { seconds = 10 }) => {
      expect(named(key)).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
        Timeout: seconds,
        MemorySize: 1024,
      });
      if (endpoints.has(key)) expect(seconds).toBe(10);
      expect(logNames.get(text(named(key).LoggingConfig.LogGroup))).toBe(`/a-stack/${key}`);
    },
  );

  test.each(accesses)('%s may only write its log and do what its access says', (key, access) => {
    const log = `${key.replaceAll('-', '')}Log`;
    const rights = [
      ...tableRightsOf(access).flatMap(({ action, keys, indexes }) => {
        const named = indexes.length === indexNames.length ? ['*'] : indexes;
        return ['Table', ...named.map((name) => `Table/index/${name}`)].map(
          (on) => `dynamodb:${action} ${on} if ${keys}`,
        );
      }),
      ...(access.secrets ?? []).map((name) => `secretsmanager:GetSecretValue ${secretIds[name]}`),
      ...(ownRights[key] ?? []),
      `logs:CreateLogStream ${log}`,
      `logs:PutLogEvents ${log}`,
    ];
    const granted = rightsOf(named(key).Role);
    expect(granted).toEqual(expect.arrayContaining(rights));
    expect(granted).toHaveLength(rights.length);
  });

  test.each(accesses)(
    '%s may do with the table exactly what its code can do',
    async (key, access) => {
      const code = reachableCode.get(key) ?? '';
      const calls = matches(
        code,
        /\.call\(\s*"(GetItem|BatchGetItem|Query|PutItem|UpdateItem|DeleteItem)"/g,
      );
      const inTransactions = matches(code, /input: \{\s*(Put|Update|Delete|ConditionCheck): \{/g);
      const ofTransactions = inTransactions.map((write) => `${write}Item`);
      const actions = [...new Set([...calls, ...ofTransactions])].sort();
      const rights = tableRightsOf(access).map(({ action }) => action);
      expect(rights.sort()).toEqual(actions);
    },
  );

  test.each(accesses)(
    '%s says that it calls providers exactly if its code can',
    (key, { callsProviders = false }) => {
      // The one place in the code that sends such a call.
      expect(reachableCode.get(key)?.includes('"user-agent": "login-service"')).toBe(
        callsProviders,
      );
    },
  );

  test.each(accesses)('%s has every variable that its code reads', async (key) => {
    const reads = /(?:environment(?:Seconds)?\(\s*|serviceKeysFor\([^,]+,\s*)"(\w+)"\)/g;
    const variables = matches(reachableCode.get(key) ?? '', reads);
    expect(Object.keys(named(key).Environment.Variables)).toEqual(
      expect.arrayContaining(variables),
    );
  });

  test('the keys that tokens are verified with are updated by their rotation alone, those of issuers by the token function', () => {
    const writers = (pk: string, ...actions: string[]) =>
      functions
        .filter(({ properties: { Role } }) =>
          actions.some((one) => mayOn(Role, `dynamodb:${one}`, pk)),
        )
        .map(({ id }) => id);
    const others = [
      'PutItem',
      'DeleteItem',
      'BatchWriteItem',
      'PartiQLInsert',
      'PartiQLUpdate',
      'PartiQLDelete',
    ];
    const { pk } = publicSigningKeysKey();
    expect([writers(pk, 'UpdateItem'), writers(pk, ...others)]).toEqual([
      ['RotateSigningKeys'],
      [],
    ]);
    const issuer = issuerKeysKey('https://accounts.example').pk;
    expect(writers(issuer, 'UpdateItem', ...others)).toEqual(['IssueToken']);
  });

  test('nobody but operators deletes events, decisions, accesses and entries, and who only reads writes none', () => {
    const may = (pk: string, ...actions: string[]) =>
      functions
        .filter(({ properties: { Role } }) =>
          actions.some((one) => mayOn(Role, `dynamodb:${one}`, pk)),
        )
        .map(({ id }) => id);
    const entries = listEntryKey('ac_7Yt', 42).pk;
    const writers = ['AddReview', 'CreateAccessRequest', 'FinishDeletions', 'Operator'];
    const of = (ids: string[]) => ids.toSorted();
    for (const pk of [accessRequestKey(42).pk, entries])
      expect(may(pk, 'DeleteItem')).toEqual(['Operator']);
    expect(of(may(entries, 'PutItem', 'UpdateItem'))).toEqual(writers);
    expect(of(may(accessRequestKey(42).pk, 'PutItem', 'UpdateItem'))).toEqual([
      'AddComment',
      ...writers,
    ]);
    expect(of(may(accessRequestKey(42).pk, 'UpdateItem'))).toEqual(writers);
  });

  test('the forms of keys that let a role at others are known', () => {
    const forms = ['SIGNING_KEYS', '*', 'S*', '*KEYS', 'SIGNING?KEYS'];
    const others = ['SIGNING_KEYS?', 'SIGNING_KEYS#*', 'signing_keys', 'SIGNING.KEYS'];
    const { pk } = publicSigningKeysKey();
    expect([...forms, ...others].filter((form) => isLike(pk, form))).toEqual(forms);
  });

  test('have no rights by other ways: no wildcards, no managed policies, no shared roles', () => {
    const rights = functions.flatMap(({ properties }) => rightsOf(properties.Role));
    const wildcards = rights.filter((right) => right.split(' if ')[0]?.includes('*'));
    // The keys limit queries of all indexes. Each deployment makes a version of its own. What looks
    // at aliases comes before all functions.
    const others = wildcards.filter((right) => !/^dynamodb:Query Table\/index\/\* if /.test(right));
    expect(others.sort()).toEqual([
      lookingAtAliases,
      ...tried.map((key) => `lambda:InvokeFunction ${pascal(key)}:*`).sort(),
    ]);
    const own = roles.filter(({ id }) =>
      functions.some(({ properties }) => text(properties.Role) === id),
    );
    for (const { properties } of own)
      expect(Object.keys(properties)).toEqual(['Policies', 'AssumeRolePolicyDocument']);
    expect(own).toHaveLength(functions.length);
    const withPolicy = own
      .map(({ id }) => id)
      .filter((id) => id !== text(named('check-new-versions').Role));
    expect(policies.map(({ properties }) => text(properties.Roles[0])).sort()).toEqual(
      withPolicy.sort(),
    );
    template.resourceCountIs('AWS::IAM::ManagedPolicy', 0);
  });

  test('have their rights in a policy of another logical id and another name as soon as these are others', async () => {
    const hashOf = (id: string): string => /[0-9a-f]{16}$/.exec(id)?.[0] ?? '';
    for (const { id, properties } of policies)
      expect(properties.PolicyName).toBe(`Rights-${hashOf(id)}`);
    const traced = Object.keys((await templateWith(everything)).findResources('AWS::IAM::Policy'));
    const ids = policies.map(({ id }) => id);
    expect(traced.map((id) => id.replace(hashOf(id), ''))).toEqual(
      ids.map((id) => id.replace(hashOf(id), '')),
    );
    expect(traced.filter((id) => ids.includes(id))).toEqual([]);
    const limited = await templateWith({ tokenConcurrency: 5 });
    expect(Object.keys(limited.findResources('AWS::IAM::Policy'))).toEqual(ids);
  });

  test.each([
    ['SecretsSigningKeys', ['IssueToken', 'RotateSigningKeys']],
    [
      'SecretsRefreshTokens',
      [
        'DeleteLoginUser',
        'IntrospectToken',
        'IssueNonce',
        'IssueToken',
        'LinkIdentity',
        'MergeLoginUsers',
        'RevokeToken',
        'RotateServiceSecrets',
      ],
    ],
    [
      'SecretsProviderSettings',
      `DeleteLoginUser FinishDeletions IssueToken LinkIdentity MergeLoginUsers
       Operator ReceiveNotification RotateServiceSecrets UnlinkIdentity`.split(/\s+/),
    ],
  ])('%s is read by %j alone', (secret, readers) => {
    const mayRead = functions.filter(({ properties }) =>
      rightsOf(properties.Role).includes(`secretsmanager:GetSecretValue ${secret}`),
    );
    expect(mayRead.map(({ id }) => id).sort()).toEqual(readers);
  });

  const always = [
    'ACCESS_TOKEN_SECONDS',
    'ISSUER',
    'MAX_SESSIONS',
    'METRICS_NAMESPACE',
    'PROVIDER_TOKENS_PER_MINUTE',
    'RECENT_LOGIN_SECONDS',
    'REFRESH_REPLAY_SECONDS',
    'SESSION_ABSOLUTE_SECONDS',
    'SESSION_IDLE_SECONDS',
    'TABLE_NAME',
    'TOKEN_ALGORITHM',
  ];
  test.each([
    [
      'issue-token',
      ['PROVIDER_SETTINGS_SECRET_ID', 'REFRESH_TOKENS_SECRET_ID', 'SIGNING_KEYS_SECRET_ID'],
    ],
    ['register-device', []],
    ['operator', ['PROVIDER_SETTINGS_SECRET_ID', 'SIGNING_KEY_ROTATION_FUNCTION']],
    ['publish-events', ['DEAD_LETTER_QUEUE_URL', 'EVENT_BUS_NAME']],
    ['rotate-signing-keys', ['SIGNING_KEYS_SECRET_ID']],
    ['rotate-service-secrets', ['PROVIDER_SETTINGS_SECRET_ID']],
  ])('%s has the settings, and also %j', (key, variables) => {
    const told = Object.keys(named(key).Environment.Variables);
    expect(told.sort()).toEqual([...always, ...variables].sort());
  });

  test('the token function alone has reserved concurrency, when it is set', async () => {
    const type = 'AWS::Lambda::Function';
    template.allResourcesProperties(type, { ReservedConcurrentExecutions: Match.absent() });
    const ReservedConcurrentExecutions = everything.tokenReservedConcurrency;
    const reserved = (await templateWith(everything)).findResources(type, {
      Properties: { ReservedConcurrentExecutions },
    });
    expect(Object.keys(reserved)).toEqual(['IssueToken']);
  });

  test('a login hook: the functions that ask it may invoke it and no other, and have time to wait', async () => {
    const hooked = await templateWith(everything);
    const functions = Object.entries(hooked.findResources('AWS::Lambda::Function'));
    const asking = functions.filter(
      ([, { Properties }]) => Properties.Environment.Variables.LOGIN_HOOK,
    );
    expect(asking.map(([id]) => id).toSorted()).toEqual([
      'IssueToken',
      'LinkIdentity',
      'MergeLoginUsers',
    ]);
    const rights = invocationRights(hooked);
    for (const [, { Properties }] of asking) {
      const { Timeout, Environment } = Properties;
      const { LOGIN_HOOK: Resource, LOGIN_HOOK_SECONDS } = Environment.Variables;
      expect([Timeout, LOGIN_HOOK_SECONDS]).toEqual([15, '5']);
      expect(JSON.stringify(Resource)).toContain(':function:login-hook:live');
      expect(rights).toContainEqual({ Action: 'lambda:InvokeFunction', Effect: 'Allow', Resource });
    }
    const arn = 'arn:aws:lambda:eu-central-1:123456789012:function:login-hook';
    const named = await templateWith({ loginHook: arn });
    expect(invocationRights(named)).toContainEqual(expect.objectContaining({ Resource: arn }));
    await expect(templateWith({ loginHook: 'arn:aws:s3:::bucket' })).rejects.toThrow(
      /loginHook must be the name or ARN/,
    );
  });

  test('are traced when the setting says so, with the same code', async () => {
    const type = 'AWS::Lambda::Function';
    template.allResourcesProperties(type, { TracingConfig: Match.absent() });
    const traced = await templateWith(everything);
    traced.allResourcesProperties(type, { TracingConfig: { Mode: 'Active' } });
    const code = (of: typeof template) =>
      Object.values(of.findResources(type)).map(({ Properties }) => Properties.Code.S3Key);
    expect(code(traced)).toEqual(code(template));
  });

  test('the issuer is the address of the API', () => {
    expect(named('issue-token').Environment.Variables.ISSUER).toEqual({
      'Fn::GetAtt': [expect.stringMatching(/^Api/), 'ApiEndpoint'],
    });
  });
});

describe('endpoints', () => {
  const apiRoutes = resources(
    'AWS::ApiGatewayV2::Route',
    v.object({ RouteKey: v.string(), Target: v.unknown() }),
  );
  const integrations = resources(
    'AWS::ApiGatewayV2::Integration',
    v.object({ IntegrationUri: v.unknown(), PayloadFormatVersion: v.string() }),
  );

  test('every endpoint is a route of the API to the live version of its function, and there are no others', () => {
    const inTemplate = apiRoutes.map(({ properties: { RouteKey, Target } }) => {
      const integration = integrations.find(
        ({ id }) => text(Target) === `integrations/${id}`,
      )?.properties;
      return [RouteKey, text(integration?.IntegrationUri), integration?.PayloadFormatVersion];
    });
    const recorded = [...endpoints].map(([key, endpoint]) => [
      endpoint.route,
      `${pascal(key)}Live`,
      '2.0',
    ]);
    expect(inTemplate.sort()).toEqual(recorded.sort());
  });

  test('every file in functions/ is a function of the stack, and there are no others', () => {
    const files = globSync('*.ts', { cwd: join(root, 'functions') });
    expect(files.map((file) => basename(file, '.ts')).sort()).toEqual(
      accesses.map(([key]) => key).sort(),
    );
    expect(functions.map(({ id }) => id).sort()).toEqual(
      accesses.map(([key]) => pascal(key)).sort(),
    );
  });
});

/**
 * The most resources of a stack: CloudFormation takes 500. docs/CONTRIBUTING.md says what to do
 * when there are more.
 */
const mostResources = 400;

test('a deployment with every option has at most 400 resources', async () => {
  for (const one of [await templateWith(everything), await watchingWith(everything)])
    expect(Object.keys(one.toJSON().Resources).length).toBeLessThanOrEqual(mostResources);
});

test('each endpoint has nine resources, or ten if it is audited, as docs/CONTRIBUTING.md says', () => {
  const { Resources } = template.toJSON();
  const ids = Object.keys(Resources).map((id) => id.toLowerCase());
  const names = [...endpoints.keys()].map((key) => key.replaceAll('-', ''));
  const counts = [...endpoints].map(([key, endpoint]) => {
    const name = key.replaceAll('-', '');
    // `unlinkidentity` has the name of another endpoint in it.
    const longer = names.filter((other) => other !== name && other.includes(name));
    const own = ids.filter(
      (id) => id.includes(name) && !longer.some((other) => id.includes(other)),
    );
    // Its route is named after its path.
    return [key, own.length + 1 - Number(isAudited(endpoint))];
  });
  expect(counts.filter(([, count]) => count !== 9)).toEqual([]);
});

test.each(['CONTRIBUTING', 'embedding', 'CHANGELOG'])(
  'docs/%s.md says how many that are',
  (page) => {
    const text = readFileSync(`docs/${page}.md`, 'utf8').replaceAll(/\s+/g, ' ');
    const [, told] =
      text.match(/(?:holds the stack to|up to|more than) (\d+) (?:resources|of the 500)/) ?? [];
    expect(Number(told)).toBe(mostResources);
  },
);

const longestArn = `arn:aws:lambda:ap-southeast-1:123456789012:function:${'a'.repeat(64)}`;

/** IAM takes 10,240 characters for a role and the policies beside it together. */
test('the rights of each role fit in and beside it, also under the longest name of a deployment', async () => {
  const { Resources } = (await templateWith({ ...everything, stack: 'a'.repeat(40) })).toJSON();
  const all: { Type: string; Properties: Record<string, unknown> }[] = Object.values(Resources);
  const lengths = roles.map(({ id }) => {
    const within = Resources[id]?.Properties.Policies;
    const beside = all.filter(
      ({ Type, Properties }) =>
        Type === 'AWS::IAM::Policy' && isDeepStrictEqual(Properties.Roles, [{ Ref: id }]),
    );
    const rights = JSON.stringify(
      [within, beside.map(({ Properties }) => Properties)],
      (_, value: unknown) =>
        typeof value === 'object' &&
        value !== null &&
        ('Fn::GetAtt' in value || 'Fn::Join' in value)
          ? text(value).replace(/^\w+/, longestArn)
          : value,
    );
    return [id, rights.length] as const;
  });
  expect(lengths.filter(([, length]) => length > 8_400)).toEqual([]);
});
