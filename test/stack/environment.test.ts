import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

const variables = {
  TABLE_NAME: 'a-table',
  ISSUER: 'https://login.example.com',
  REFRESH_TOKENS_SECRET_ID: 'a-secret',
  PROVIDER_SETTINGS_SECRET_ID: 'one-more-secret',
  SIGNING_KEYS_SECRET_ID: 'another-secret',
  EVENT_BUS_NAME: 'a-bus',
  DEAD_LETTER_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/123456789012/a-queue',
  SIGNING_KEY_ROTATION_FUNCTION: 'a-function',
  TOKEN_ALGORITHM: 'RS256',
  ACCESS_TOKEN_SECONDS: '3600',
  SESSION_IDLE_SECONDS: '2592000',
  SESSION_ABSOLUTE_SECONDS: '31536000',
  MAX_SESSIONS: '100',
};
type Variable = keyof typeof variables;

/** What each function needs to load. */
const needed: Record<string, Variable[]> = {
  'issue-token': [
    ...(['TABLE_NAME', 'ISSUER', 'SIGNING_KEYS_SECRET_ID'] as const),
    ...(['REFRESH_TOKENS_SECRET_ID', 'PROVIDER_SETTINGS_SECRET_ID'] as const),
    ...(['ACCESS_TOKEN_SECONDS', 'SESSION_IDLE_SECONDS', 'SESSION_ABSOLUTE_SECONDS'] as const),
    'MAX_SESSIONS',
  ],
  'introspect-token': ['TABLE_NAME', 'ISSUER', 'REFRESH_TOKENS_SECRET_ID'],
  'describe-server': ['ISSUER'],
  'list-signing-keys': ['TABLE_NAME'],
  'relate-device': ['TABLE_NAME', 'ISSUER'],
  'search-events': ['TABLE_NAME'],
  'link-identity': ['TABLE_NAME', 'ISSUER', 'PROVIDER_SETTINGS_SECRET_ID'],
  'delete-login-user': ['TABLE_NAME', 'ISSUER', 'PROVIDER_SETTINGS_SECRET_ID'],
  'end-all-sessions': ['TABLE_NAME', 'ISSUER'],
  operator: [
    ...(['TABLE_NAME', 'ISSUER', 'PROVIDER_SETTINGS_SECRET_ID'] as const),
    'SIGNING_KEY_ROTATION_FUNCTION',
  ],
  'publish-events': ['EVENT_BUS_NAME', 'DEAD_LETTER_QUEUE_URL'],
  'rotate-signing-keys': ['TABLE_NAME', 'SIGNING_KEYS_SECRET_ID', 'TOKEN_ALGORITHM', 'ACCESS_TOKEN_SECONDS'],
  'rotate-service-secrets': ['TABLE_NAME', 'PROVIDER_SETTINGS_SECRET_ID', 'SESSION_IDLE_SECONDS'],
};

const environmentOf = (names: Variable[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, variables[name]]));

const cases = [
  ...Object.entries(needed).flatMap(([key, names]) =>
    names.map((lacking) => ({
      title: `${key} without ${lacking} does not load, and names it`,
      key,
      environment: environmentOf(names.filter((name) => name !== lacking)),
      outcome: `Error: The environment variable ${lacking} is not set.`,
    })),
  ),
  ...Object.entries(needed).map(([key, names]) => ({
    title: `${key} loads with ${names} alone`,
    key,
    environment: environmentOf(names),
    outcome: '',
  })),
  ...Object.entries({ SESSION_IDLE_SECONDS: '30 days', REFRESH_GRACE_SECONDS: '-1' }).map(
    ([name, value]) => ({
      title: `${name} must be a number of seconds, not ${value}`,
      key: 'issue-token',
      environment: { ...variables, [name]: value },
      outcome: `Error: The environment variable ${name} must be a whole number of seconds.`,
    }),
  ),
];

// A process of its own, which has nothing else in its environment.
const program = join(import.meta.dirname, '../support/load-functions.ts');
const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, JSON.stringify(cases)], {
  env: {},
});
const outcomes: unknown[] = JSON.parse(stdout);

test.each(cases.map((one, place) => ({ ...one, found: outcomes[place] })))('$title', ({ outcome, found }) => {
  expect(found).toBe(outcome);
});

test('loading prints nothing', () => {
  expect(stderr).toBe('');
});
