import { describe, expect, jest, test } from '@jest/globals';
import { placeOfJsonError } from '../../infra/operator/files/place-of-json-error.ts';
import { createLoginApp } from '../support/login-app.ts';
import { failed, writeSettings } from '../support/operator.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { demo } = service;
const loginApp = ['--login-app', demo.login_app.login_app_id];

const account = demo.account.account_id;
const event = `--access-request ${demo.access_request_id} --actor-type custom --actor-id x`.split(
  ' ',
);
const nobody = `la_${'A'.repeat(22)}`;
const inNone = ['--access-request', '999999999'];
const noAccount = `ac_${'A'.repeat(22)}`;

const nouns =
  'Choose one of login-users, identities, sessions, devices, login-apps, clients, providers, mobile-applications, accounts, access-requests, comments, reviews, events, check, release, signing-keys.';
const verbs =
  'Choose one of list, find, show, create, rename, update, disable, enable, rotate, delete, revoke.';

const failures: [string[], string][] = [
  [['nouns', 'create'], `unknown command 'nouns'. ${nouns}`],
  [['account', 'create'], `unknown command 'account' (Did you mean accounts?). ${nouns}`],
  [['accounts'], `The command is incomplete. ${verbs}`],
  [['login-apps', 'tokens'], 'The command is incomplete. Choose one of create, list, revoke.'],
  [['accounts', 'create'], 'accounts create: --name is missing.'],
  [['accounts', 'create', '--name', ''], 'accounts create: --name must not be empty.'],
  [
    ['accounts', 'create', '--nmae', 'x'],
    "unknown option '--nmae' (Did you mean --name?). See --help.",
  ],
  ...['--app-secret', '--app-secret=our-secret'].map((typed): [string[], string] => [
    ['providers', 'set', typed, 'our-secret'],
    "unknown option '--app-secret' (Did you mean --app-secret-file?). See --help.",
  ]),
  [
    ['sessions', 'find', '--token', 'rt.x'],
    "unknown option '--token' (Did you mean --token-file?). See --help.",
  ],
  [
    ['login-users', 'find', '--email', 'alice@example.com'],
    "unknown option '--email'. Choose one of --login-app, --provider, --subject, --issuer, --external-id.",
  ],
  [['accounts', 'create', '--name'], "option '--name <text>' argument missing. See --help."],
  [
    ['accounts', 'create', '--name', 'a', 'b'],
    "too many arguments for 'create'. Expected 0 arguments but got 1: b. See --help.",
  ],
  [
    ['clients', 'create', '--login-app', 'la_x'],
    'clients create: --login-app must be a complete id of the form la_… (see login-apps list or login-apps find).',
  ],
  [['clients', 'create', '--login-app', nobody], 'There is no such Login App.'],
  [
    ['clients', 'create'],
    'clients create: --login-app is missing (see login-apps list or login-apps find).',
  ],
  [
    ['clients', 'create', ...loginApp, '--grant-types', 'password'],
    'clients create: --grant-types must be all, none, or some of provider_credentials, provider_authorization_code, refresh_token, client_credentials, separated by commas.',
  ],
  [
    ['providers', 'show', ...loginApp, '--provider', 'provider_z'],
    'providers show: --provider must be one of provider_a, provider_b, provider_c, provider_d, provider_e, provider_f.',
  ],
  [['access-requests', 'create', '--account', noAccount], 'There is no such account.'],
  [
    ['access-requests', 'grant', ...inNone, '--account', account],
    'There is no such access request.',
  ],
  [
    ['comments', 'add', '--access-request', 'x', '--actor-type', 'y'],
    'comments add: --access-request must be an integer; --actor-type must be one of login_user, custom; --actor-id is missing; --comment is missing.',
  ],
  [
    ['comments', 'add', ...event, '--comment', 'x'.repeat(10_001)],
    'comment must have at most 10000 characters.',
  ],
  [
    ['comments', 'add', ...event.slice(0, -1), 'x'.repeat(201), '--comment', 'x'],
    'actor_id must have 1 to 200 characters.',
  ],
  [['reviews', 'add', ...event], 'reviews add: --status is missing.'],
  [
    ['login-users', 'block', '--login-user', `lu_${'A'.repeat(43)}`],
    'There is no such Login User.',
  ],
];

const notUtf8 = (place: string): string =>
  `is not UTF-8 ${place}; if it is Latin-1 or Windows-1252, save it as UTF-8`;

describe('an operator command that fails says why and changes nothing', () => {
  test.each(failures.map(([words, line]) => ({ name: words.join(' ').slice(0, 90), words, line })))(
    '$name',
    async ({ words, line }) => {
      const before = (await service.search('?page_size=100')).text;
      expect(await failed(...words)).toBe(line);
      expect((await service.search('?page_size=100')).text).toBe(before);
    },
  );

  test('a settings file that is missing', async () => {
    const set = ['providers', 'set', ...loginApp, '--provider', 'provider_f', '--settings'];
    expect(await failed(...set, '/nowhere.json')).toBe(
      '--settings: the file /nowhere.json cannot be read.',
    );
  });

  test.each([
    ['{"issuer": ', 'line 1, column 12'],
    // A byte order mark is no part of the text.
    ['\ufeff{"issuer": ', 'line 1, column 12'],
    ['', 'line 1, column 1'],
    ['{\n  "issuers": [\n    "a",\n  ]\n}', 'line 4, column 3'],
    ['{\n  "app_secret": our-secret,\n  "app_id": "1"\n}', 'line 2, column 17'],
    ['{\n  "issuer": "a"\n  "app_id": "1"\n}', 'line 3, column 3'],
  ])(
    'a settings file that is no JSON: %j, with the place and nothing of the text',
    async (text, place) => {
      const file = writeSettings(text);
      const set = ['providers', 'set', ...loginApp, '--provider', 'provider_f', '--settings'];
      expect(await failed(...set, file)).toBe(
        `--settings: the file ${file} is not JSON: see ${place}.`,
      );
    },
  );

  test.each([
    ['in Latin-1', Buffer.from('{\n"label": "M\u00fcller"}', 'latin1'), notUtf8('in line 2')],
    ['with a cut character', Buffer.from('{"a": "\u00fc').subarray(0, -1), notUtf8('in line 1')],
    ['in UTF-16', Buffer.from('\ufeff{}', 'utf16le'), 'is UTF-16; save it as UTF-8'],
  ])('a settings file %s', async (_, bytes, problem) => {
    const file = writeSettings(bytes);
    const set = ['providers', 'set', ...loginApp, '--provider', 'provider_f', '--settings'];
    expect(await failed(...set, file)).toBe(`--settings: the file ${file} ${problem}.`);
  });

  test('the place in a long text that is no JSON takes some twenty tries', () => {
    const parse = jest.spyOn(JSON, 'parse');
    const text = `[${'{"a": 1},\n'.repeat(16_000)}x]`;
    expect(placeOfJsonError(text)).toBe('line 16001, column 1');
    expect(parse.mock.calls.length).toBeLessThan(30);
    parse.mockRestore();
  });

  test('a secret that is missing or empty', async () => {
    const set = ['providers', 'set', ...loginApp, '--provider', 'provider_a', '--preset', 'github'];
    expect(await failed(...set, '--app-secret-file', '/nowhere')).toBe(
      '--app-secret-file: the file /nowhere cannot be read.',
    );
    expect(await failed(...set, '--app-secret-file', writeSettings('\n'))).toBe(
      'providers set: --app-secret-file must not be empty.',
    );
  });

  const json = (value: object) => writeSettings(JSON.stringify(value));
  const apple = ['apple', '--app-id', 'our-app', '--team-id', 'T', '--key-id', 'K'];
  const google = ['google', '--app-id', 'our-app'];
  const facebook = ['facebook', '--app-secret-file', writeSettings('s'), '--app-id', 'our-app'];
  const oidc = ['oidc', '--app-id', 'our-app', '--issuer'];
  const wrongFlags: [string, string[], string][] = [
    [
      'provider_f',
      [...apple, '--app-secret-file', writeSettings('not a key')],
      '--app-secret-file must be an EC private key for ES256 in PEM form',
    ],
    [
      'provider_f',
      [...oidc, 'http://accounts.example'],
      '--issuer must be an https address, without user, password or fragment',
    ],
    [
      'provider_f',
      [...oidc, 'https://accounts.example', '--jwks-uri', 'https://10.0.0.1/keys'],
      '--jwks-uri must name its host, by no IP address and no loopback name',
    ],
    [
      'provider_f',
      [...google, '--notifications', writeSettings('1')],
      '--notifications must be a JSON object',
    ],
    [
      'provider_f',
      [...google, '--notifications', json({ audience: 1 })],
      '--notifications audience: is not a setting of this provider',
    ],
    [
      'provider_a',
      [...facebook, '--notifications', json({ more: 1 })],
      '--notifications more: is not a setting of this provider',
    ],
  ];
  test.each(wrongFlags)(
    'a wrong flag of a preset is named, for %s: %j',
    async (provider, flags, problem) => {
      const { login_app_id } = await createLoginApp(service, unique('app'));
      const to = ['--login-app', login_app_id, '--provider', provider];
      expect(await failed('providers', 'set', ...to, '--preset', ...flags)).toBe(
        `The settings of ${provider} are invalid: ${problem}.`,
      );
    },
  );

  test('an id that is unknown: the line names those that are known', async () => {
    const { login_app_id, client_id } = await createLoginApp(service, unique('app'));
    const flags = ['--login-app', login_app_id];
    const client = ['--client', `${nobody}.c_${'A'.repeat(22)}`];
    const noClient = `The Login App has no such client; it has ${client_id}.`;
    expect(await failed('clients', 'revoke', ...flags, ...client)).toBe(noClient);
    expect(await failed('clients', 'update', ...flags, ...client, '--grant-types', 'none')).toBe(
      noClient,
    );
    const [token, secret] = [`t_${'A'.repeat(22)}`, `sec_${'A'.repeat(22)}`];
    expect(await failed('login-apps', 'tokens', 'revoke', ...flags, '--token', token)).toBe(
      'The Login App has no such token; it has none.',
    );
    const revoke = ['clients', 'revoke', ...flags, '--client', client_id, '--secret'];
    const unknown = await failed(...revoke, secret);
    const [, only = ''] =
      unknown.match(/^There is no such secret\. Existing secrets: (sec_[\w-]{22})\.$/) ?? [];
    expect(await failed(...revoke, only)).toBe(`${only} is the only secret; rotate first.`);
    expect(await failed('providers', 'check', ...flags, '--provider', 'provider_a')).toBe(
      'The Login App has no provider_a; it has none.',
    );
  });

  test('the operator function itself rejects what no command line sends', async () => {
    const call = (noun: string, verb: string, flags: Record<string, unknown>) =>
      expect(service.operate(noun, verb, flags)).rejects;
    await call('nouns', 'create', {}).toThrow(/^There is no such command\.$/);
    await call('__proto__', 'toString', {}).toThrow(/^There is no such command\.$/);
    await call('accounts', 'constructor', {}).toThrow(/^There is no such command\.$/);
    await call('accounts', 'create', { name: 7 }).toThrow(
      /^accounts create: --name must be text\.$/,
    );
    await call('accounts', 'create', { name: '' }).toThrow(
      /^accounts create: --name must not be empty\.$/,
    );
    for (const given of [false, 'no', 1, null]) {
      const flags = { 'login-app': nobody, 'with-everything': given };
      await call('login-apps', 'delete', flags).toThrow(
        /^login-apps delete: --with-everything takes no value\.$/,
      );
    }
    await call('accounts', 'create', { name: 'x', toString: 'y' }).toThrow(
      /there is no flag --toString/,
    );
  });
});
