import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import * as v from 'valibot';
import { bundlingFor, withEventStreams } from '../../infra/stack/bundling.ts';
import { tableRightsOf } from '../../infra/table-rights.ts';
import type { SecretName } from '../../lib/http/endpoint.ts';
import { table as storage } from '../../lib/storage/table.ts';
import {
  accesses,
  functions,
  named,
  policies,
  resources,
  rightsOf,
  root,
  text,
} from '../support/template.ts';

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

const indexNames = [...Object.keys(storage.localIndexes), ...Object.keys(storage.globalIndexes)];
const secretIds: Record<SecretName, string> = {
  'signing-keys': 'SecretsSigningKeys',
  'refresh-tokens': 'SecretsRefreshTokens',
  'provider-settings': 'SecretsProviderSettings',
};

/** The secrets that a function rotates. */
const rotatedBy: Record<string, SecretName[]> = {
  'rotate-signing-keys': ['signing-keys'],
  'rotate-service-secrets': ['refresh-tokens', 'provider-settings'],
};

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
      v.object({ LogGroupName: v.optional(v.string()), RetentionInDays: v.number() }),
    );
    const own = logGroups.find(({ id }) => id === text(named(key).LoggingConfig.LogGroup));
    expect(own?.properties).toEqual({ LogGroupName: `/a-stack/${key}`, RetentionInDays: 90 });
  });

  test.each(accesses)('%s may only write its log and do what its access says', (key, access) => {
    const log = `${key.replaceAll('-', '')}Log`;
    const forwarding = [
      'logs:PutLogEvents AuditLog',
      ...['GetQueueAttributes', 'GetQueueUrl', 'SendMessage'].map((name) => `sqs:${name} AuditUndelivered`),
    ];
    const stream = ['DescribeStream', 'GetRecords', 'GetShardIterator', 'ListStreams'];
    const rotation = ['DescribeSecret', 'GetSecretValue', 'PutSecretValue', 'UpdateSecretVersionStage'];
    expect(rightsOf(named(key).Role)).toEqual(
      [
        ...tableRightsOf(access).flatMap(({ action, keys }) =>
          ['Table', ...(action === 'Query' ? indexNames.map((name) => `Table/index/${name}`) : [])].map(
            (on) => `dynamodb:${action} ${on} if ${keys}`,
          ),
        ),
        ...access.secrets.map((name) => `secretsmanager:GetSecretValue ${secretIds[name]}`),
        ...(rotatedBy[key] ?? []).flatMap((name) =>
          rotation.map((action) => `secretsmanager:${action} ${secretIds[name]}`),
        ),
        ...(key === 'operator' ? ['lambda:InvokeFunction RotateSigningKeys'] : []),
        ...(key === 'forward-audit' ? forwarding : []),
        ...(key === 'publish-events'
          ? [
              ...stream.map((action) => `dynamodb:${action} Table`),
              'events:PutEvents EventPublishingBus',
              'sqs:SendMessage EventPublishingDeadLetters',
            ]
          : []),
        `logs:CreateLogStream ${log}`,
        `logs:PutLogEvents ${log}`,
      ].sort(),
    );
  });

  test.each(accesses)('%s may do with the table exactly what its code can do', async (key, { table }) => {
    const commands = matches(
      await reachableCode(key),
      /new (Get|BatchGet|Query|Put|Update|Delete)Command\b/g,
    );
    const actions = commands.map((command) => (command === 'Query' ? command : `${command}Item`));
    expect(Object.keys(table).sort()).toEqual(actions);
  });

  test.each(accesses)('%s has every variable that its code reads', async (key) => {
    const variables = matches(
      await reachableCode(key),
      /(?:environment(?:Seconds)?\(|serviceKeysFor\([^,]+, )"(\w+)"\)/g,
    );
    expect(Object.keys(named(key).Environment.Variables)).toEqual(expect.arrayContaining(variables));
  });

  test.each([
    ['one with event streams', withEventStreams],
    ['any other', accesses.map(([key]) => key).filter((key) => !withEventStreams.includes(key))],
  ])('%s needs no package at its start that its bundle does not have', async (_, keys) => {
    const { mainFields = [], externalModules = [] } = bundlingFor(keys[0] ?? '');
    const { metafile } = await build({
      entryPoints: keys.map((key) => join(root, `functions/${key}.ts`)),
      bundle: true,
      mainFields,
      external: externalModules,
      format: 'esm',
      platform: 'node',
      metafile: true,
      write: false,
      outdir: 'bundle',
    });
    const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
    const packages = imports.filter(({ kind, path }) => kind === 'import-statement' && !isBuiltin(path));
    expect(packages.map(({ path }) => path)).toEqual([]);
  });

  test('only the rotation writes the keys that tokens are verified with', () => {
    const writers = functions.filter(({ properties }) =>
      rightsOf(properties.Role).some((right) =>
        /^dynamodb:(Put|Update|Delete)Item .* if .*SIGNING_KEYS/.test(right),
      ),
    );
    expect(writers.map(({ id }) => id)).toEqual(['RotateSigningKeys']);
  });

  test('have no rights by other ways: no wildcards, no managed policies, no shared roles', () => {
    const rights = functions.flatMap(({ properties }) => rightsOf(properties.Role));
    expect(rights.filter((right) => right.split(' if ')[0]?.includes('*'))).toEqual([]);
    const all = resources('AWS::IAM::Role', v.record(v.string(), v.unknown()));
    const roles = all.filter(({ id }) => functions.some(({ properties }) => text(properties.Role) === id));
    for (const { properties } of roles) expect(Object.keys(properties)).toEqual(['AssumeRolePolicyDocument']);
    expect(roles).toHaveLength(functions.length);
    expect(policies).toHaveLength(functions.length);
  });

  test.each([
    ['SecretsSigningKeys', ['IssueToken', 'RotateSigningKeys']],
    ['SecretsRefreshTokens', ['IntrospectToken', 'IssueToken', 'RevokeToken', 'RotateServiceSecrets']],
    [
      'SecretsProviderSettings',
      [
        ...['DeleteLoginUser', 'IssueToken', 'LinkIdentity', 'Operator', 'ReceiveNotification'],
        'RotateServiceSecrets',
      ],
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
    'METRICS_NAMESPACE',
    'SESSION_ABSOLUTE_SECONDS',
    'SESSION_IDLE_SECONDS',
    'TABLE_NAME',
    'TOKEN_ALGORITHM',
  ];
  test.each([
    ['issue-token', ['PROVIDER_SETTINGS_SECRET_ID', 'REFRESH_TOKENS_SECRET_ID', 'SIGNING_KEYS_SECRET_ID']],
    ['register-device', []],
    ['operator', ['PROVIDER_SETTINGS_SECRET_ID', 'SIGNING_KEY_ROTATION_FUNCTION']],
    ['publish-events', ['DEAD_LETTER_QUEUE_URL', 'EVENT_BUS_NAME']],
    ['rotate-signing-keys', ['SIGNING_KEYS_SECRET_ID']],
    ['rotate-service-secrets', ['PROVIDER_SETTINGS_SECRET_ID']],
  ])('%s has the settings, and also %j', (key, variables) => {
    const told = Object.keys(named(key).Environment.Variables);
    expect(told.sort()).toEqual([...always, ...variables].sort());
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
