import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

/** The variables that the token function needs; `functions.test.ts` holds those of each function against its code. */
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
const environmentWithout = (lacking: string): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => name !== lacking));

const cases = [
  { title: 'loads with these alone', environment: variables, outcome: '' },
  ...Object.keys(variables).map((lacking) => ({
    title: `does not load without ${lacking}, and names it`,
    environment: environmentWithout(lacking),
    outcome: `Error: The environment variable ${lacking} is not set.`,
  })),
  ...Object.entries({ SESSION_IDLE_SECONDS: '30 days', REFRESH_GRACE_SECONDS: '-1' }).map(
    ([name, value]) => ({
      title: `does not load with the ${name} ${value}`,
      environment: { ...variables, [name]: value },
      outcome: `Error: The environment variable ${name} must be a whole number of seconds.`,
    }),
  ),
];

// A process of its own, which has nothing else in its environment.
const program = join(import.meta.dirname, 'load-token-function.ts');
const environments = JSON.stringify(cases.map(({ environment }) => environment));
const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, environments], { env: {} });
const outcomes: unknown[] = JSON.parse(stdout);

test.each(cases.map((one, place) => ({ ...one, found: outcomes[place] })))(
  'the token function $title',
  ({ outcome, found }) => {
    expect(found).toBe(outcome);
  },
);

test('loading prints nothing', () => {
  expect(stderr).toBe('');
});
