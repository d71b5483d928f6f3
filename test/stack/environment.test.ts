import { expect, test } from '@jest/globals';
import { execa } from 'execa';

/**
 * The variables that the token function needs; `functions.test.ts` holds those of each function
 * against its code.
 */
const variables = {
  TABLE_NAME: 'a-table',
  ISSUER: 'https://login.example.com',
  REFRESH_TOKENS_SECRET_ID: 'a-secret',
  PROVIDER_SETTINGS_SECRET_ID: 'one-more-secret',
  SIGNING_KEYS_SECRET_ID: 'another-secret',
  ACCESS_TOKEN_SECONDS: '3600',
  SESSION_IDLE_SECONDS: '2592000',
  SESSION_ABSOLUTE_SECONDS: '31536000',
  MAX_SESSIONS: '100',
  REFRESH_REPLAY_SECONDS: '60',
};

await import('../../functions/issue-token.ts');
const { requireEnvironmentInLambda } = await import('../../lib/foundation/environment.ts');
const isMissing = (name: string) => `The environment variable ${name} is not set.`;
const isNoNumber = (name: string) =>
  `The environment variable ${name} must be a whole number of seconds.`;

test.each([
  ...Object.keys(variables).map((name) => [name, '', isMissing(name)] as const),
  ['SESSION_IDLE_SECONDS', '30 days', isNoNumber('SESSION_IDLE_SECONDS')],
  ['REFRESH_GRACE_SECONDS', '-1', isNoNumber('REFRESH_GRACE_SECONDS')],
  [
    'PROVIDER_TOKENS_PER_MINUTE',
    'many',
    'The environment variable PROVIDER_TOKENS_PER_MINUTE must be a whole number.',
  ],
] as const)('the token function does not load with the %s %j', (name, value, message) => {
  process.env = { ...variables, AWS_LAMBDA_FUNCTION_NAME: 'issue-token' };
  expect(requireEnvironmentInLambda).not.toThrow();
  process.env[name] = value;
  expect(requireEnvironmentInLambda).toThrow(message);
});

test('loading prints nothing, or the one error', async () => {
  const load = (env: Record<string, string>) =>
    execa(process.execPath, ['functions/issue-token.ts'], {
      env: { AWS_REGION: 'us-east-1', AWS_LAMBDA_FUNCTION_NAME: 'issue-token', ...env },
      extendEnv: false,
      reject: false,
    });
  expect(await load(variables)).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
  expect((await load({ ...variables, ISSUER: '' })).stderr).toContain(
    `Error: ${isMissing('ISSUER')}`,
  );
});
