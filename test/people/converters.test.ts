import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { scratchFolder } from '../support/own-service.ts';

/** Runs an example with something on standard input. */
function run(script: string, input: string | Uint8Array = '') {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    input,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

/** Converts an export; the subjects, or push tokens, of the lines. */
function convert(from: string, input: string | Uint8Array) {
  const { status, stdout, stderr } = run(`docs/examples/import/from-${from}.mjs`, input);
  const lines = stdout.split('\n').filter(Boolean);
  const parsed = lines.map((line): Record<string, unknown> => JSON.parse(line));
  return { status, ids: parsed.map(({ subject, token }) => subject ?? token), stderr };
}

const converters = ['auth0', 'cognito', 'firebase', 'parse', 'pinpoint', 'sns'];

describe('an export of Auth0', () => {
  /** One user, who has these ids at Facebook. */
  function atFacebook(ids: string[]) {
    const identities = ids.map((id) => `{"provider":"facebook","user_id":${id}}`);
    return `{"user_id":"facebook|1","email":"carol@example.com","identities":[${identities}]}\n`;
  }

  test('may have ids that are texts, and numbers that no reader rounds', () => {
    const largest = '9007199254740991';
    expect(convert('auth0', atFacebook(['"10211234567890123"', largest]))).toEqual({
      status: 0,
      ids: ['10211234567890123', largest],
      stderr: '',
    });
  });

  test('with an id that was rounded makes nobody of it', () => {
    const { status, ids, stderr } = convert(
      'auth0',
      atFacebook(['10211234567890123', '1e400', '7']),
    );
    expect([status, ids]).toEqual([2, ['7']]);
    expect(stderr).toContain(
      'The user_id of facebook|1 at facebook is a number that was rounded; export it as text.',
    );
    expect(stderr).toContain('Left out: 2 of facebook\n');
  });

  test('without identities names the provider in each user_id', () => {
    const userIds = ['google-oauth2|1093', 'apple|001999.a|b', 'auth0|65f1', 'oauth2|line|7'];
    const users = userIds.map((user_id) => ({ user_id, email: 'carol@example.com' }));
    const lines = users.map((user) => JSON.stringify(user)).join('\r\n');
    expect(convert('auth0', `\ufeff${lines}\r\n\r\n`)).toEqual({
      status: 2,
      ids: ['1093', '001999.a|b'],
      stderr: 'Left out: 1 of auth0\nLeft out: 1 of oauth2\n',
    });
  });
});

describe('an export of Firebase', () => {
  const folder = scratchFolder();
  const admin = {
    'package.json': JSON.stringify({
      name: 'firebase-admin',
      type: 'module',
      exports: { './app': './app.js', './auth': './auth.js' },
    }),
    'app.js': `export const applicationDefault = () => 'from the environment';
      export const initializeApp = ({ credential }) => { if (!credential) throw new Error('no credential'); };`,
    // Two pages, with fields as in a UserRecord.
    'auth.js': `const user = (uid, ...providerData) => ({ uid, email: uid + '@example.com', providerData, tenantId: null });
      const google = { providerId: 'google.com', uid: '2093', email: 'bob@example.com', displayName: 'Bob' };
      const apple = { providerId: 'apple.com', uid: '001999.a', email: 'bob@example.com', displayName: undefined };
      const password = { providerId: 'password', uid: 'eve@example.com', email: 'eve@example.com' };
      const pages = { first: { users: [user('bob', google, apple)], pageToken: 'next' }, next: { users: [user('eve', password), user('ann')] } };
      export const getAuth = () => ({ listUsers: async (most, token = 'first') => { if (most > 1000) throw new Error('too many'); return pages[token]; } });`,
  };

  test('by the Admin SDK has people at Apple, who log in without a name', () => {
    const packageFolder = join(folder, 'node_modules/firebase-admin');
    mkdirSync(packageFolder, { recursive: true });
    for (const [name, text] of Object.entries(admin))
      writeFileSync(join(packageFolder, name), text);
    const script = join(folder, 'list-firebase.mjs');
    cpSync(resolve('docs/examples/import/list-firebase.mjs'), script);
    const listed = run(script);
    expect(listed).toMatchObject({ status: 0, stderr: '' });
    expect(convert('firebase', listed.stdout)).toEqual({
      status: 2,
      ids: ['2093', '001999.a'],
      stderr: 'Left out: 1 of password\nLeft out: 1 of no provider\n',
    });
  });
});

describe('what is left out is counted', () => {
  const identity = (providerName: string) => ({
    Attributes: [
      { Name: 'sub', Value: 'c5a1' },
      { Name: 'identities', Value: JSON.stringify([{ userId: '7', providerName }]) },
    ],
  });
  const arn = (service: string) => `arn:aws:sns:us-west-2:123456789012:endpoint/${service}/shop/1`;
  const endpoint = (service: string) => ({
    EndpointArn: arn(service),
    Attributes: { Enabled: 'true', Token: service },
  });
  const channel = (ChannelType: string, more = {}) =>
    JSON.stringify({ ChannelType, Address: ChannelType, ...more });

  test.each<[string, string, object]>([
    [
      'cognito',
      JSON.stringify({ Users: [identity('Google'), identity('Okta'), { Attributes: [] }] }),
      {
        ids: ['7'],
        stderr: 'Left out: 1 of Okta\nLeft out: 1 of no provider\n',
      },
    ],
    [
      'sns',
      JSON.stringify({ Endpoints: ['GCM', 'BAIDU', 'BAIDU', 'ADM'].map(endpoint) }),
      { ids: ['GCM'], stderr: 'Left out: 2 of BAIDU\nLeft out: 1 of ADM\n' },
    ],
    [
      'pinpoint',
      [channel('GCM'), channel('ADM'), channel('EMAIL'), channel('BAIDU', { OptOut: 'ALL' })].join(
        '\n',
      ),
      { ids: ['GCM'], stderr: 'Left out: 1 of ADM\n' },
    ],
    [
      'parse',
      JSON.stringify({
        results: [
          { deviceType: 'ios', deviceToken: 'a' },
          { deviceType: 'winrt', deviceToken: 'b' },
        ],
      }),
      { ids: ['a'], stderr: 'Left out: 1 of winrt\n' },
    ],
  ])('from-%s.mjs', (from, input, expected) => {
    expect(convert(from, input)).toEqual({ status: 2, ...expected });
  });
});

test.each(converters)('from-%s.mjs prints nothing after an error, nor quotes the input', (from) => {
  const known = '{"user_id":"google-oauth2|1","email":"carol@example.com"}';
  const wrong = convert(from, `${known}\n{"secret`);
  expect(wrong).toMatchObject({ status: 1, ids: [] });
  expect(wrong.stderr).toMatch(/^Nothing was written\. (The input|Line \d) is not JSON\.\n$/);
  const latin1 = Buffer.from('{"user_id":"google-oauth2|m\u00fcller"}\n', 'latin1');
  expect(convert(from, latin1)).toEqual({
    status: 1,
    ids: [],
    stderr: 'Nothing was written. The input is not UTF-8.\n',
  });
});
