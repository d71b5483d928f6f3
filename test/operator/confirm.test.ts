import { randomUUID } from 'node:crypto';
import { DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { commands } from '../../lib/operator/commands/index.ts';
import { createLoginApp } from '../support/login-app.ts';
import { flagsOf, operator, writeSettings } from '../support/operator.ts';
import { newPerson } from '../support/people.ts';
import { newKeeper } from '../support/provider-access.ts';
import {
  client_secret_jwt,
  privateKey,
  startProviderStandIn,
} from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { stolenSigningKeys } from '../support/stolen-signing-keys.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';

const standIn = await startProviderStandIn();
const own = await startServiceWithStore({}, { movableClock: true });
const { running, service, tableName } = own;
const { operate } = service;
const documents = DynamoDBDocumentClient.from(own.dynamoDb);
const atTerminal = (typed: string) => operator.at(running.directory, typed);
const byProgram = operator.at(running.directory);

/** Every item of the table, by its key. */
const everything = async (): Promise<Map<string, unknown>> => {
  const { Items = [] } = await documents.send(new ScanCommand({ TableName: tableName }));
  return new Map(Items.map((item) => [`${item.pk} ${item.sk}`, item]));
};

const newAccount = async () =>
  String((await operate('accounts', 'create', { name: 'Test' })).account_id);
const newApp = () => createLoginApp(service, 'My app');

/** Every command that deletes or revokes, with something that it can take away. */
const taking: Record<string, () => Promise<Record<string, unknown>>> = {
  'accounts delete': async () => ({ account: await newAccount() }),
  'accounts revoke': async () => {
    const account = await newAccount();
    const { old_secrets } = await operate('accounts', 'rotate', { account });
    const [{ secret_id }] = Object(old_secrets);
    return { account, secret: secret_id };
  },
  'login-apps delete': async () => {
    const flags = { 'login-app': (await newApp()).login_app_id };
    await operate('login-apps', 'disable', flags);
    // Nobody can log in any more, so the command does not wait.
    running.advance(60);
    return flags;
  },
  'login-apps tokens revoke': async () => {
    const flags = { 'login-app': (await newApp()).login_app_id };
    const { token_id } = await operate('login-apps', 'tokens create', { ...flags, name: 'Test' });
    return { ...flags, token: token_id };
  },
  'clients revoke': async () => {
    const { login_app_id, client_id } = await newApp();
    return { 'login-app': login_app_id, client: client_id };
  },
  'providers tokens revoke': async () => {
    const { app, logIn } = await newKeeper(service, standIn, { name: 'My app' });
    await logIn();
    return { 'login-app': app.login_app_id };
  },
  'access-requests revoke': async () => {
    const flags = { 'access-request': service.demo.access_request_id, account: await newAccount() };
    await operate('access-requests', 'grant', flags);
    return flags;
  },
  'login-users delete': async () => ({ 'login-user': (await newPerson(service)).loginUserId }),
  'login-users merge': async () => ({
    'login-user': (await newPerson(service)).loginUserId,
    'given-up': (await newPerson(service)).loginUserId,
    reason: 'ticket-7',
  }),
  'identities remove': async () => {
    const { account, loginUserId } = await newPerson(service);
    const { id } = (await account.linkAt('provider_a', unique('other'))).body;
    return { 'login-user': loginUserId, identity: id };
  },
  'signing-keys revoke': async () => ({ kid: (await stolenSigningKeys(running)).next.kid }),
};

/** Names of what the flags stand for, where it has one. */
const names = new Map([
  ['--login-app', 'My app'],
  ['--token', 'Test'],
  ['--account', 'Test'],
]);

/** The question about a command line: each id has the name beside it. */
const questionFor = (words: string[]): string => {
  const named = words.map((word, place) => {
    const name = names.get(words[place - 1] ?? '');
    return name === undefined ? word : `${word} (${name})`;
  });
  return `${named.join(' ')}, on the stack on this machine. Continue? [y/N] `;
};

/** A command line of that command, without a word about which stack. */
async function newLine(command: string): Promise<string[]> {
  return [...command.split(' '), ...flagsOf((await taking[command]?.()) ?? {})];
}

test('every command that deletes, revokes or merges is here', () => {
  expect(
    [...commands.keys()]
      .filter((command) => /^identities remove$| (delete|revoke|merge)$/.test(command))
      .toSorted(),
  ).toEqual(Object.keys(taking).toSorted());
});

describe.each(Object.keys(taking))('npm run operator %s', (command) => {
  test('asks on a terminal: changes nothing after n, and goes on after y', async () => {
    const words = await newLine(command);
    const asked = questionFor(words);
    const before = await everything();
    expect(await atTerminal('n\n')(...words, '--local')).toEqual({
      code: 1,
      stdout: '',
      stderr: `${asked}Nothing was changed.\n`,
    });
    expect(await everything()).toEqual(before);
    const { code, stderr } = await atTerminal('y\n')(...words, '--local');
    expect({ code, stderr }).toEqual({ code: 0, stderr: asked });
    expect(await everything()).not.toEqual(before);
  });

  test('has to be told --yes by a program, and then asks nothing', async () => {
    const words = await newLine(command);
    const before = await everything();
    expect(await byProgram(...words, '--local')).toEqual({
      code: 1,
      stdout: '',
      stderr: `${command} takes effect at once: add --yes to confirm it.\n`,
    });
    expect(await everything()).toEqual(before);
    expect(await byProgram(...words, '--local', '--yes')).toMatchObject({ code: 0, stderr: '' });
    expect(await everything()).not.toEqual(before);
  });
});

describe('npm run operator providers set', () => {
  const example = 'https://accounts.example';
  const google = { issuer: 'https://accounts.google.com', audiences: ['us'] };
  const apple = { issuer: 'https://appleid.apple.com', audiences: ['us'] };
  const codes = {
    token_url: 'https://appleid.apple.com/auth/token',
    client_id: 'us',
    client_secret: 'our-secret',
    id_token: { issuer: apple.issuer },
  };
  const user_info = { url: 'https://accounts.example/me' };

  /** A Login App with a provider that is set up; the command line with which it is set again. */
  async function setUpAgain(provider: string, settings: object, by: string[]): Promise<string[]> {
    const { login_app_id } = await newApp();
    await service.setProvider({ login_app_id }, provider, settings);
    return [
      'providers',
      'set',
      '--login-app',
      login_app_id,
      '--provider',
      provider,
      ...by,
      '--local',
    ];
  }
  const file = (settings: object) => ['--settings', writeSettings(JSON.stringify(settings))];
  const bySignature = (issuer: object) => ({
    user_info,
    audience_validation: { method: 'jwt', ...issuer },
  });
  const secretFile = ['--app-secret-file', writeSettings('our-secret')];
  const presetX = '--preset x --app-id us --redirect-uri https://app.example/callback'.split(' ');
  const presetGoogle = '--preset google --app-id us --namespace our-people'.split(' ');
  const other = { ...google, issuer: example, jwks_uri: `${example}/jwks` };
  const microsoft = 'https://login.microsoftonline.com';
  const jwks_uri = `${microsoft}/common/discovery/v2.0/keys`;
  const tenant = { ...google, issuer: `${microsoft}/${randomUUID()}/v2.0`, jwks_uri };
  const everyTenant = { ...google, issuer: `${microsoft}/{tenantid}/v2.0`, jwks_uri };
  const inNamespace = { ...google, namespace: 'our-people' };

  test.each<[string, () => Promise<string[]>, string]>([
    [
      'a file without two issuers',
      () => setUpAgain('provider_f', { issuers: [google, apple] }, file({ issuers: [other] })),
      `the issuer ${google.issuer}, the issuer ${apple.issuer}`,
    ],
    [
      'a preset in the place of codes with an issuer',
      () => setUpAgain('provider_b', { authorization_code: codes }, [...presetX, ...secretFile]),
      `the issuer ${apple.issuer}`,
    ],
    [
      'another issuer of access tokens that are JWTs',
      () => setUpAgain('provider_a', bySignature(google), file(bySignature(apple))),
      `the issuer ${google.issuer}`,
    ],
    [
      'a file that leaves out the namespace of an issuer',
      () => setUpAgain('provider_f', { issuers: [inNamespace] }, file({ issuers: [google] })),
      `the namespace our-people of the issuer ${google.issuer}`,
    ],
    [
      'an issuer of every tenant in the place of one tenant and of another issuer',
      () =>
        setUpAgain('provider_f', { issuers: [tenant, apple] }, file({ issuers: [everyTenant] })),
      `the issuer ${apple.issuer}`,
    ],
    [
      'a preset with another namespace',
      () => setUpAgain('provider_f', { issuers: [google] }, presetGoogle),
      `the namespace ${google.issuer} of the issuer ${google.issuer}`,
    ],
  ])('names what %s would remove, and asks', async (_, setUp, issuers) => {
    const words = await setUp();
    const before = await everything();
    expect(await byProgram(...words)).toEqual({
      code: 1,
      stdout: '',
      stderr: `providers set removes ${issuers}: add --yes to confirm it.\n`,
    });
    const asked = `providers set removes ${issuers}, on the stack on this machine. Continue? [y/N] `;
    expect(await atTerminal('n\n')(...words)).toEqual({
      code: 1,
      stdout: '',
      stderr: `${asked}Nothing was changed.\n`,
    });
    expect(await everything()).toEqual(before);
    expect(await atTerminal('y\n')(...words)).toMatchObject({ code: 0, stderr: asked });
    expect(await everything()).not.toEqual(before);
  });

  test.each<[string, string[]]>([
    ['a file that keeps the issuers', file({ issuers: [apple, google] })],
    ['--yes', [...file({ issuers: [apple] }), '--yes']],
    ['a preset that adds one', ['--preset', 'kakao', '--app-id', 'us']],
    [
      'a preset that adds any issuer',
      [
        '--preset',
        'oidc',
        '--issuer',
        example,
        '--app-id',
        'us',
        '--jwks-uri',
        'https://keys.example/jwks',
      ],
    ],
  ])('asks nothing after %s', async (_, by) => {
    const words = await setUpAgain('provider_f', { issuers: [google, apple] }, by);
    expect(await byProgram(...words)).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('npm run operator, where provider settings would no longer keep tokens', () => {
  const tokens = 'revokes and forgets the tokens that are kept of people at';
  const keeping = (issuer: string) => ({
    issuer,
    audiences: ['us'],
    code_exchange: {
      token_url: `${issuer}/token`,
      client_id: 'us',
      client_secret_jwt,
      keep_tokens: true,
    },
  });
  const apple = 'https://appleid.apple.com';
  const google = 'https://accounts.google.com';

  /** A Login App with these issuers as provider_f, and the flags that name them. */
  async function ofIssuers(...issuers: object[]): Promise<string[]> {
    const { login_app_id } = await newApp();
    await service.setProvider({ login_app_id }, 'provider_f', { issuers });
    return ['--login-app', login_app_id, '--provider', 'provider_f'];
  }
  /** A Login App whose provider_b keeps tokens, and the flags that name it. */
  async function ofCodes(): Promise<string[]> {
    const { login_app_id } = await newApp();
    await service.setProvider({ login_app_id }, 'provider_b', byCodes({}));
    return ['--login-app', login_app_id, '--provider', 'provider_b'];
  }
  const byCodes = (more: object) => ({
    authorization_code: { ...keeping(apple).code_exchange, id_token: { issuer: apple }, ...more },
  });
  const file = (settings: object) => ['--settings', writeSettings(JSON.stringify(settings))];

  test.each<[string, () => Promise<string[]>, string]>([
    [
      'set',
      async () => [...(await ofCodes()), ...file(byCodes({ keep_tokens: false }))],
      `${tokens} provider_b`,
    ],
    ['remove', ofCodes, `${tokens} provider_b`],
    [
      'remove',
      async () => [...(await ofIssuers(keeping(apple), keeping(google))), '--issuer', apple],
      `${tokens} ${apple}`,
    ],
    [
      'set',
      async () => [
        ...(await ofIssuers(keeping(apple), keeping(google))),
        ...file({ issuers: [keeping(google)] }),
      ],
      `removes the issuer ${apple}, and ${tokens} ${apple}`,
    ],
    [
      'set',
      async () => [
        ...(await ofIssuers(keeping(apple), keeping(google))),
        ...'--preset apple --app-id us --team-id 1A234BFK46 --key-id 1ABC6523AA'.split(' '),
        ...['--app-secret-file', writeSettings(privateKey)],
      ],
      `${tokens} ${apple}`,
    ],
  ])('providers %s says what happens, and asks', async (verb, flags, effect) => {
    const words = ['providers', verb, ...(await flags()), '--local'];
    const before = await everything();
    expect(await byProgram(...words)).toEqual({
      code: 1,
      stdout: '',
      stderr: `providers ${verb} ${effect}: add --yes to confirm it.\n`,
    });
    const asked = `providers ${verb} ${effect}, on the stack on this machine. Continue? [y/N] `;
    expect(await atTerminal('n\n')(...words)).toMatchObject({
      code: 1,
      stderr: `${asked}Nothing was changed.\n`,
    });
    expect(await everything()).toEqual(before);
    expect(await atTerminal('y\n')(...words)).toMatchObject({ code: 0, stderr: asked });
    expect(await everything()).not.toEqual(before);
  });

  test.each<[string, () => Promise<string[]>]>([
    ['set', async () => [...(await ofCodes()), ...file(byCodes({ client_id: 'other' }))]],
    [
      'set',
      async () => [
        ...(await ofIssuers(keeping(apple))),
        ...'--preset google --app-id us'.split(' '),
      ],
    ],
    ['remove', async () => [...(await ofCodes()), '--yes']],
  ])('providers %s asks nothing where they are kept, or after --yes', async (verb, flags) => {
    const words = ['providers', verb, ...(await flags()), '--local'];
    expect(await byProgram(...words)).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('npm run operator, when it has asked', () => {
  test.each(['yes\n', 'YES\n', 'Y\n'])('goes on after %j', async (typed) => {
    expect(await atTerminal(typed)(...(await newLine('accounts revoke')), '--local')).toMatchObject(
      {
        code: 0,
        stderr: expect.stringMatching(/Continue\? \[y\/N\] $/),
      },
    );
  });

  test.each(['\n', '', 'yesterday\n'])('changes nothing after %j', async (typed) => {
    const words = await newLine('accounts revoke');
    const before = await everything();
    expect(await atTerminal(typed)(...words, '--local')).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/Continue\? \[y\/N\] Nothing was changed\.\n$/),
    });
    expect(await everything()).toEqual(before);
  });
});

test('npm run operator asks with the id alone when it stands for nothing', async () => {
  const words = ['accounts', 'delete', '--account', `ac_${'A'.repeat(22)}`];
  const asked = `${words.join(' ')}, on the stack on this machine. Continue? [y/N] `;
  const { stderr } = await atTerminal('y\n')(...words, '--local');
  expect(stderr).toBe(`${asked}There is no such account.\n`);
});

describe('npm run operator asks nothing', () => {
  test.each([
    ['providers', '--provider', 'provider_f'],
    ['mobile-applications', '--platform', 'ios'],
  ])('before %s remove, also when a program runs it', async (noun, ...what) => {
    const setup = { platforms: ['ios'], providers: ['provider_f'] };
    const { login_app_id } = await createLoginApp(service, 'My app', setup);
    const words = [noun, 'remove', '--login-app', login_app_id, ...what, '--local'];
    expect(await byProgram(...words)).toMatchObject({ code: 0, stderr: '' });
  });
});
