import { generateKeyPairSync } from 'node:crypto';
import { DynamoDBDocumentClient, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { newIndexId } from '../../lib/login-users/login-user.ts';
import { commands } from '../../lib/operator/commands/index.ts';
import { deletionKey, loginAppKey, loginUserKey, unfinishedList } from '../../lib/storage/keys.ts';
import { demoSettings } from '../support/login-app.ts';
import { type Scenario, serviceThatLosesAnswers } from '../support/lost-answers.ts';
import { newPerson } from '../support/people.ts';
import { newPublicClient } from '../support/phone.ts';
import { newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { stolenSigningKeys } from '../support/stolen-signing-keys.ts';

const {
  running,
  service,
  dynamoDb,
  tableName,
  newAccount,
  newApp,
  newAccessRequest,
  newOwner,
  expectTheSame,
} = await serviceThatLosesAnswers();
const { operate } = service;
const standIn = await startProviderStandIn();
const { privateKey: private_key } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

type Flags = Record<string, unknown>;
/** A command that needs nothing but its flags. */
const command =
  (name: string, flags: () => Promise<Flags>): Scenario =>
  async () => {
    const [noun = '', ...verb] = name.split(' ');
    const given = await flags();
    return () => operate(noun, verb.join(' '), given);
  };
const ofApp = async (): Promise<{ 'login-app': string }> => ({
  'login-app': (await newApp()).login_app_id,
});
/** Disables a Login App so long ago that every instance knows. */
const disabledLongAgo = async ({ 'login-app': id }: { 'login-app': string }): Promise<void> => {
  const past = new UpdateCommand({
    TableName: tableName,
    Key: loginAppKey(id),
    UpdateExpression: 'SET disabled_at = :past',
    ExpressionAttributeValues: { ':past': '2020-01-01T00:00:00.000Z' },
  });
  await DynamoDBDocumentClient.from(dynamoDb).send(past);
};
/** Begins the deletion of a person as one that died long ago. */
const deletionOfLongAgo = async (): Promise<void> => {
  const { 'login-user': id } = await ofPerson();
  const client = DynamoDBDocumentClient.from(dynamoDb);
  const past = '2020-01-01T00:00:00.000Z';
  const mark = { login_user_id: id, by: 'person', list: unfinishedList, list_position: past };
  await client.send(
    new PutCommand({ TableName: tableName, Item: { ...deletionKey(id), ...mark } }),
  );
  const begun = new UpdateCommand({
    TableName: tableName,
    Key: loginUserKey(id),
    UpdateExpression: 'SET deleted_at = :past, next_slot = :next',
    ExpressionAttributeValues: { ':past': past, ':next': newIndexId() },
  });
  await client.send(begun);
};
const lineOf = (line: number, content: object) => ({
  line,
  text: JSON.stringify(content),
  repetition: 0,
});
const ofAccount = async () => ({ account: (await newAccount()).account_id });
const ofPerson = async () => ({ 'login-user': (await newOwner()).person.loginUserId });
const ofNewIdentity = async () => ({
  ...(await ofPerson()),
  provider: 'provider_f',
  issuer: `${service.demo.sandbox_url}/provider_f`,
  subject: unique('another'),
});
const ofEvent = async () => ({
  'access-request': (await newAccessRequest()).id,
  'actor-type': 'custom',
  'actor-id': '7',
});
const oldSecretOf = async (noun: string, flags: Flags) => {
  const { old_secrets } = await operate(noun, 'rotate', flags);
  return { ...flags, secret: (old_secrets as { secret_id: string }[])[0]?.secret_id };
};
/** The flags of a command that takes another one back, which has been carried out. */
const after = async (name: string, flags: Flags): Promise<Flags> => {
  const [noun = '', verb = ''] = name.split(' ');
  await operate(noun, verb, flags);
  return flags;
};
const ofClient = async () => {
  const { login_app_id, client_id } = await newApp();
  return { 'login-app': login_app_id, client: client_id };
};

const ofPublicClient = async () => {
  const flags = await ofApp();
  const client = await newPublicClient(service, { login_app_id: flags['login-app'] });
  return { ...flags, client };
};

/** Every operator command that writes, as `NOUN VERB`. */
const commandScenarios: Record<string, Scenario> = Object.fromEntries(
  Object.entries<() => Promise<Flags>>({
    'accounts rename': async () => ({ ...(await ofAccount()), name: 'New' }),
    'accounts create': async () => ({ name: 'Test' }),
    'accounts update': async () => ({ ...(await ofAccount()), access: 'read' }),
    'accounts disable': ofAccount,
    'accounts enable': async () => after('accounts disable', await ofAccount()),
    'accounts delete': async () => ({ account: (await newAccessRequest()).account.account_id }),
    'accounts revoke': async () => oldSecretOf('accounts', await ofAccount()),
    'login-apps rename': async () => ({ ...(await ofApp()), name: 'New' }),
    'login-apps update': async () => ({ ...(await ofApp()), 'sign-ups': 'closed' }),
    'login-apps set-guests': async () => ({ ...(await ofApp()), days: 7 }),
    'login-apps create': async () => ({ name: 'Test' }),
    'login-apps disable': ofApp,
    'login-apps enable': async () => after('login-apps disable', await ofApp()),
    'login-apps delete': async () => {
      const flags = await ofApp();
      await disabledLongAgo(flags);
      return flags;
    },
    'login-apps logout': ofApp,
    'login-apps undo-logout': async () => after('login-apps logout', await ofApp()),
    'login-apps tokens create': async () => ({ ...(await ofApp()), name: 'Test' }),
    'login-apps tokens revoke': async () => {
      const app = await ofApp();
      const { token_id } = await operate('login-apps', 'tokens create', { ...app, name: 'Test' });
      return { ...app, token: token_id };
    },
    'clients create': ofApp,
    'clients update': async () => ({ ...(await ofClient()), 'grant-types': 'none' }),
    'clients revoke': ofClient,
    'clients set-providers': async () => ({
      ...(await ofPublicClient()),
      providers: 'provider_a,provider_f',
    }),
    'mobile-applications set': async () => ({ ...(await ofApp()), platform: 'ios' }),
    'mobile-applications remove': async () => ({ ...(await ofApp()), platform: 'android' }),
    'providers set': async () => ({
      ...(await ofApp()),
      provider: 'provider_f',
      settings: await demoSettings(service, 'provider_f'),
    }),
    'providers tokens revoke': async () => {
      const { app, logIn } = await newKeeper(service, standIn);
      await logIn();
      return { 'login-app': app.login_app_id };
    },
    'providers remove': async () => ({ ...(await ofApp()), provider: 'provider_f' }),
    'providers subscribe': async () => ({
      ...(await ofApp()),
      provider: 'provider_f',
      preset: 'google',
      'api-url': `${service.demo.sandbox_url}/risc`,
      'service-account': JSON.stringify({ client_email: 'a@b', private_key_id: 'k', private_key }),
    }),
    'access-requests import': async () => ({
      ...(await ofAccount()),
      'access-requests': [lineOf(1, { id: 7 }), lineOf(2, { id: 'x' }), lineOf(3, { id: 7 })],
    }),
    'access-requests create': ofAccount,
    // Run before, so that there is nothing to write whatever others have made.
    'access-requests index': async () => operate('access-requests', 'index', {}).then(() => ({})),
    'access-requests grant': async () => ({
      ...(await ofAccount()),
      'access-request': (await newAccessRequest()).id,
    }),
    'access-requests revoke': async () => {
      const { account, id } = await newAccessRequest();
      return { account: account.account_id, 'access-request': id };
    },
    'comments add': async () => ({ ...(await ofEvent()), comment: 'x' }),
    'reviews add': async () => ({ ...(await ofEvent()), status: 'approved' }),
    'events import': async () => {
      const access_request_id = (await newAccessRequest()).id;
      const event = {
        access_request_id,
        type: 'comment',
        actor_type: 'custom',
        actor_id: '7',
        comment: 'x',
      };
      return {
        events: [1, 2].map((line) => ({ line, text: JSON.stringify(event), repetition: line })),
      };
    },
    'signing-keys revoke': async () => ({ kid: (await stolenSigningKeys(running)).next.kid }),
    'probes create': async () => ({}),
    'probes remove': async () => {
      const { login_app_id, client_id, account_id } = await operate('probes', 'create', {});
      return { 'login-app': login_app_id, client: client_id, account: account_id };
    },
    'devices import': async () => {
      const device = {
        platform: 'android',
        token: unique('phone'),
        installation_id: unique('installation'),
      };
      return {
        ...(await ofApp()),
        devices: [{ line: 1, text: JSON.stringify(device), repetition: 0 }],
      };
    },
    'devices disable': async () => ({ device: (await newOwner()).phone }),
    'login-users import': async () => {
      const [{ app, person }, issuer] = [
        await newOwner(),
        `${service.demo.sandbox_url}/provider_f`,
      ];
      const lineAbout = (line: number, external_id: string, subject = unique('imported')) =>
        lineOf(line, { provider: 'provider_f', issuer, subject, external_id });
      const known = lineAbout(4, 'carol', person.subject);
      const people = [lineAbout(1, 'alice'), lineAbout(2, 'bob'), lineAbout(3, 'alice'), known];
      return { 'login-app': app.login_app_id, people, replace: true };
    },
    'login-users block': ofPerson,
    'login-users unblock': async () => after('login-users block', await ofPerson()),
    'login-users logout': ofPerson,
    'login-users delete': ofPerson,
    'login-users merge': async () => {
      const { app, person } = await newOwner();
      const other = await newPerson(service, unique('other'), app);
      return { 'login-user': other.loginUserId, 'given-up': person.loginUserId, reason: 'x' };
    },
    'login-users finish-deletions': async () => {
      await deletionOfLongAgo();
      return {};
    },
    'login-users retry-revocations': async () => after('login-users delete', await ofPerson()),
    'identities add': ofNewIdentity,
    'identities remove': async () => {
      const flags = await ofNewIdentity();
      const { identity_id: identity } = await operate('identities', 'add', flags);
      return { 'login-user': flags['login-user'], identity };
    },
  }).map(([name, flags]) => [name, command(name, flags)]),
);
commandScenarios['clients revoke, one secret'] = command('clients revoke', async () =>
  oldSecretOf('clients', await ofClient()),
);
commandScenarios['clients rotate'] = async () => {
  const app = await newApp();
  return async () => {
    const flags = { 'login-app': app.login_app_id, client: app.client_id };
    const rotated = await operate('clients', 'rotate', flags);
    const client = { ...app, client_secret: String(rotated.client_secret) };
    return {
      rotated,
      works: (await service.token({ grant_type: 'client_credentials' }, client)).status,
    };
  };
};
commandScenarios['accounts rotate'] = async () => {
  const { account, id } = await newAccessRequest();
  return async () => {
    const rotated = await operate('accounts', 'rotate', { account: account.account_id });
    const renewed = { ...account, account_secret: String(rotated.account_secret) };
    return { rotated, works: (await service.search('', { account: renewed, id })).status };
  };
};

/** The flags of a Login App whose provider_b keeps somebody's token. */
const ofKeeper = async () => {
  const { app, logIn } = await newKeeper(service, standIn);
  await logIn();
  return { 'login-app': app.login_app_id, provider: 'provider_b' };
};
commandScenarios['providers set, without keep_tokens'] = command('providers set', async () => {
  const authorization_code = {
    token_url: 'https://appleid.apple.com/auth/token',
    client_id: 'us',
    client_secret: 'our-secret',
    id_token: { issuer: 'https://appleid.apple.com' },
  };
  return { ...(await ofKeeper()), settings: { authorization_code } };
});
commandScenarios['providers remove, with keep_tokens'] = command('providers remove', ofKeeper);

commandScenarios['login-apps delete, with everything'] = command('login-apps delete', async () => {
  const { app } = await newOwner();
  const flags = { 'login-app': app.login_app_id };
  await disabledLongAgo(flags);
  return { ...flags, 'with-everything': true };
});

commandScenarios['identities add, of another person'] = command('identities add', async () => {
  const { person, app } = await newOwner();
  const { provider, issuer, subject } = await ofNewIdentity();
  await operate('identities', 'add', {
    'login-user': person.loginUserId,
    provider,
    issuer,
    subject,
  });
  const other = await newPerson(service, unique('other'), app);
  return { 'login-user': other.loginUserId, provider, issuer, subject, move: true };
});
commandScenarios['login-users import, in place of others'] = command(
  'login-users import',
  async () => {
    const [{ app, person }, issuer] = [await newOwner(), `${service.demo.sandbox_url}/provider_f`];
    const lineAbout = (line: number, subject: string) =>
      lineOf(line, { provider: 'provider_f', issuer, subject, external_id: 'carol' });
    const former = [lineAbout(1, person.subject), lineAbout(2, unique('former'))];
    await operate('login-users', 'import', { 'login-app': app.login_app_id, people: former });
    const people = [lineAbout(1, person.subject), lineAbout(2, unique('next'))];
    return { 'login-app': app.login_app_id, people, replace: true };
  },
);

describe('an answer of the store that is lost changes no answer of the operator', () => {
  test('every command that writes has a scenario', () => {
    const reads = /^release note$| (list|show|find|describe|check|export)$/;
    const writing = [...commands.keys()].filter((words) => !reads.test(words));
    expect(Object.keys(commandScenarios)).toEqual(expect.arrayContaining(writing));
  });

  test.each(Object.entries(commandScenarios))('%s', (_, scenario) => expectTheSame(scenario));
});
