import { DynamoDBDocumentClient, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { readFunctions } from '../../infra/endpoints.ts';
import type { Demo } from '../../infra/local/demo.ts';
import { shardOf } from '../../lib/devices/shards.ts';
import { commandTable } from '../../lib/operator/command-table.ts';
import { loginAppKey } from '../../lib/storage/keys.ts';
import { eventOf, filledIn, requestOf } from '../sam/event-files.ts';
import { accountOf, identityIdsOf } from '../support/account.ts';
import { createClient, createLoginApp, demoSettings } from '../support/login-app.ts';
import { newPerson, newPhone, type Person } from '../support/people.ts';
import { ourApp, startProviderStandIn } from '../support/provider-stand-in.ts';
import { type Answer, basic, unique } from '../support/service.ts';
import { stolenSigningKeys } from '../support/stolen-signing-keys.ts';
import { startServiceWithStore } from '../support/store-and-service.ts';
import { hexToken } from '../support/tokens.ts';

/**
 * The store does a call, and its answer is lost: the SDK sends the call again. The caller of the service then
 * gets exactly what they get when nothing is lost, whichever answer it was.
 */
const { running, service, proxy, dynamoDb, tableName } = await startServiceWithStore();
const { operate } = service;
const scene = (await startProviderStandIn()).openScene();

/** Makes what a request needs, all of it new; returns the request. */
type Scenario = () => Promise<() => Promise<unknown>>;

let settings: unknown;
beforeAll(async () => {
  // The issuer's keys and the public signing keys are read once; no scenario begins with that.
  await service.relate('unknown', (await newPerson(service)).token);
  settings = await demoSettings(service, 'provider_f');
});

const shown = ({ status, body }: Answer) => ({ status, body });

const newAccount = async (): Promise<Demo['account']> => {
  const { account_id, account_secret } = await operate('accounts', 'create', { name: 'Test' });
  return { account_id: String(account_id), account_secret: String(account_secret) };
};
/** A Login App with a client, for both platforms and provider_f; nothing has used it yet. */
const newApp = async () => {
  const app = await createLoginApp(service, 'Test');
  const flags = { 'login-app': app.login_app_id };
  await operate('providers', 'set', { ...flags, provider: 'provider_f', settings });
  await operate('mobile-applications', 'set', { ...flags, platform: 'android' });
  return app;
};
const newAccessRequest = async () => {
  const account = await newAccount();
  const { access_request_id: id } = await operate('access-requests', 'create', {
    account: account.account_id,
  });
  return { account, id: Number(id) };
};
/** A person with a phone of theirs. */
const newOwner = async () => {
  const app = await newApp();
  const person = await newPerson(service, unique('alice'), app);
  const phone = await newPhone(service, await service.loginAppToken(app));
  await service.relate(phone, person.token);
  return { app, person, phone };
};
/** A person with two sessions, a phone and a linked identity. */
const newManager = async () => {
  const { app, person } = await newOwner();
  const tablet = await newPerson(service, person.subject, app);
  const account = accountOf(service, person.token);
  await account.linkAt('provider_f', unique('linked'));
  return { app, person, account, tablet: accountOf(service, tablet.token) };
};
/** A notification of an issuer about a person with two sessions; the issuer's keys are known. */
const notification = async (more: object): Promise<() => Promise<unknown>> => {
  const app = await newApp();
  const flags = { 'login-app': app.login_app_id, provider: 'provider_f' };
  const issuer = { issuer: scene.url, audiences: [ourApp], ...more };
  await operate('providers', 'set', { ...flags, settings: { issuers: [issuer] } });
  const sub = unique('alice');
  const form = { grant_type: 'provider_credentials', provider: 'provider_f' };
  for (let logins = 0; logins < 2; logins += 1) {
    await service.token({ ...form, id_token: await scene.idToken({ sub }) }, app);
  }
  const events = { type: 'consent-revoked', sub };
  const payload = await scene.idToken({ sub: undefined, exp: undefined, jti: 'x', events });
  const path = `/v2/marketing/providers/provider_f/notifications?login_app_id=${app.login_app_id}`;
  return async () => shown(await service.json(path, { payload }));
};
const loginUser = ({ loginUserId }: Person) => ({ 'login-user': loginUserId });
const revoke = (token: string, app: Demo['login_app']): Promise<Answer> =>
  service.call('/v2/marketing/oauth/revoke', {
    method: 'POST',
    headers: { authorization: basic(app.client_id, app.client_secret) },
    body: new URLSearchParams({ token }),
  });
const listRecipients = (query: string, app: Demo['login_app']): Promise<Answer> =>
  service.call(`/v2/marketing/push_notifications/recipients?${query}`, {
    headers: { authorization: basic(app.client_id, app.client_secret) },
  });
const write =
  (path: 'comments' | 'reviews', more: object, headers = () => ({})): Scenario =>
  async () => {
    const { account, id } = await newAccessRequest();
    const event = { actor_type: 'custom', actor_id: '7', comment: 'x', ...more };
    const options = { id, account, headers: headers() };
    return async () => shown(await service.addEvent(path, event, options));
  };
const withKey = () => ({ 'idempotency-key': unique('key') });

/** The example of an endpoint's record, with credentials and ids that exist. It must succeed. */
const exampleOf =
  (key: string): Scenario =>
  async () => {
    const { app, person, phone } = await newOwner();
    const { account, id } = await newAccessRequest();
    const event = filledIn(eventOf(key), {
      CLIENT_ID: app.client_id,
      CLIENT_SECRET: app.client_secret,
      ACCOUNT_ID: account.account_id,
      ACCOUNT_SECRET: account.account_secret,
      LOGIN_APP_TOKEN: await service.loginAppToken(app),
      LOGIN_USER_TOKEN: person.token,
      [`d_${'A'.repeat(43)}`]: phone,
      'access_requests/1': `access_requests/${id}`,
    });
    const { path, init } = requestOf(event);
    return async () => {
      const answer = shown(await service.call(path, init));
      if (answer.status >= 300) throw new Error(`Give it a scenario: its example ends in ${answer.status}.`);
      return answer;
    };
  };

/** What endpoints that write are asked, by the names of their functions; the others are asked their example. */
const endpointScenarios: Record<string, Record<string, Scenario>> = {
  'issue-token': {
    'provider credentials': async () => {
      const app = await newApp();
      const { id_token = '' } = await service.credentials('provider_f', { subject: unique('alice') });
      const form = { grant_type: 'provider_credentials', provider: 'provider_f', id_token };
      return async () => shown(await service.token(form, app));
    },
    'an authorization code': async () => {
      const provider = 'provider_b';
      const { authorization_code = '' } = await service.credentials(provider, { subject: unique('alice') });
      const form = { grant_type: 'provider_authorization_code', provider, authorization_code };
      // From now on the settings of the provider are cached, so that each attempt makes the same calls.
      const app = service.demo.login_app;
      await service.logIn(unique('alice'), provider, app);
      return async () => shown(await service.token(form, app));
    },
    'the credentials of a linked identity': async () => {
      const { app, person } = await newOwner();
      const account = accountOf(service, person.token);
      const { id_token = '' } = await service.credentials('provider_f', { subject: unique('bob') });
      await account.link({ provider: 'provider_f', id_token });
      const form = { grant_type: 'provider_credentials', provider: 'provider_f', id_token };
      return async () => shown(await service.token(form, app));
    },
    'the credentials of somebody who was deleted': async () => {
      const { app, person } = await newOwner();
      await operate('login-users', 'delete', loginUser(person));
      const { id_token = '' } = await service.credentials('provider_f', { subject: person.subject });
      const form = { grant_type: 'provider_credentials', provider: 'provider_f', id_token };
      return async () => shown(await service.token(form, app));
    },
    'a refresh token': async () => {
      const { app, person } = await newOwner();
      const form = { grant_type: 'refresh_token', refresh_token: person.refreshToken };
      return async () => shown(await service.token(form, app));
    },
    'an outdated refresh token': async () => {
      const { app, person } = await newOwner();
      const refresh = (refresh_token: string) =>
        service.token({ grant_type: 'refresh_token', refresh_token }, app);
      await refresh((await refresh(person.refreshToken)).body.refresh_token);
      return async () => shown(await refresh(person.refreshToken));
    },
  },
  'delete-login-user': {
    'with all that a person can have': async () => {
      const { account } = await newManager();
      return async () => shown(await account.remove());
    },
  },
  'end-all-sessions': {
    'all of them': async () => {
      const { account } = await newManager();
      return async () => shown(await account.endSessions());
    },
    'all others': async () => {
      const { tablet } = await newManager();
      return async () => shown(await tablet.endSessions('?except=current'));
    },
  },
  'end-session': {
    'another one': async () => {
      const { account, tablet } = await newManager();
      const { sessions } = (await account.sessions()).body;
      const own = sessions.find(({ current }: { current: boolean }) => current);
      return async () => shown(await tablet.endSession(own.id));
    },
  },
  'link-identity': {
    'a new one': async () => {
      const { account } = await newManager();
      const { id_token = '' } = await service.credentials('provider_f', { subject: unique('bob') });
      return async () => shown(await account.link({ provider: 'provider_f', id_token }));
    },
    'one that is theirs': async () => {
      const { account, person } = await newManager();
      const { id_token = '' } = await service.credentials('provider_f', { subject: person.subject });
      return async () => shown(await account.link({ provider: 'provider_f', id_token }));
    },
    "one that is another person's": async () => {
      const { app, account } = await newManager();
      const { subject } = await newPerson(service, unique('bob'), app);
      const { id_token = '' } = await service.credentials('provider_f', { subject });
      return async () => shown(await account.link({ provider: 'provider_f', id_token }));
    },
  },
  'unlink-identity': {
    'the first one': async () => {
      const { account } = await newManager();
      const [first = ''] = identityIdsOf(await account.show());
      return async () => shown(await account.unlink(first));
    },
    'a linked one': async () => {
      const { account } = await newManager();
      const [, linked = ''] = identityIdsOf(await account.show());
      return async () => shown(await account.unlink(linked));
    },
  },
  'receive-notification': {
    'that ends sessions': async () => notification({}),
    'that deletes': async () => notification({ on_consent_revoked: 'delete' }),
  },
  'revoke-token': {
    'a refresh token': async () => {
      const { app, person } = await newOwner();
      return async () => shown(await revoke(person.refreshToken, app));
    },
  },
  'register-device': {
    'a new device': async () => {
      const token = await service.loginAppToken(await newApp());
      return async () =>
        shown(await service.register({ platform: 'android', token: unique('phone') }, token));
    },
    'a known device': async () => {
      const token = await service.loginAppToken(await newApp());
      const device = { platform: 'android', token: hexToken() };
      await service.register(device, token);
      return async () => shown(await service.register(device, token));
    },
    'another token of an installation': async () => {
      const { app, person } = await newOwner();
      const token = await service.loginAppToken(app);
      const installation_id = unique('installation');
      const device = () => ({ platform: 'android', token: unique('phone'), installation_id });
      await service.relate((await service.register(device(), token)).body.id, person.token);
      return async () => {
        const { status, body } = shown(await service.register(device(), token));
        const { devices } = (await service.listDevices(person.token)).body;
        return { status, isTheirs: devices.some(({ id }: { id: string }) => id === body.id) };
      };
    },
  },
  'list-recipients': {
    'a person': async () => {
      const { app, person } = await newOwner();
      return async () => shown(await listRecipients(`login_user_id=${person.loginUserId}`, app));
    },
    'a shard': async () => {
      const { app, phone } = await newOwner();
      const shard = Number(shardOf(app.login_app_id, phone).slice(-2));
      return async () => shown(await listRecipients(`shard=${shard}&limit=10`, app));
    },
  },
  'relate-device': {
    'a new device': async () => {
      const { app, person } = await newOwner();
      const phone = await newPhone(service, await service.loginAppToken(app));
      return async () => shown(await service.relate(phone, person.token));
    },
    'a device that is theirs already': async () => {
      const { person, phone } = await newOwner();
      return async () => shown(await service.relate(phone, person.token));
    },
    "another person's device": async () => {
      const { app, phone } = await newOwner();
      const next = await newPerson(service, unique('bob'), app);
      return async () => shown(await service.relate(phone, next.token));
    },
  },
  'list-devices': {
    'a relation that outlived its session': async () => {
      const { app, person } = await newOwner();
      const tablet = await newPerson(service, person.subject, app);
      proxy.hook = ({ operation, body }) =>
        operation === 'Query' && body.IndexName === 'by_list'
          ? { status: 200, body: { Items: [], Count: 0, ScannedCount: 0 } }
          : undefined;
      await revoke(person.refreshToken, app);
      return async () => shown(await service.listDevices(tablet.token));
    },
  },
  'create-access-request': {
    'without a key': async () => {
      const account = await newAccount();
      return async () => shown(await service.createAccessRequest({ account }));
    },
    'with a key': async () => {
      const options = { account: await newAccount(), headers: withKey() };
      return async () => shown(await service.createAccessRequest(options));
    },
  },
  'add-comment': {
    'without a key': write('comments', {}),
    'with a key': write('comments', {}, withKey),
  },
  'add-review': { 'with a key': write('reviews', { status: 'approved' }, withKey) },
};

type Flags = Record<string, unknown>;
/** A command that needs nothing but its flags. */
const command =
  (name: string, flags: () => Promise<Flags>): Scenario =>
  async () => {
    const [noun = '', ...verb] = name.split(' ');
    const given = await flags();
    return () => operate(noun, verb.join(' '), given);
  };
const ofApp = async (): Promise<{ 'login-app': string }> => ({ 'login-app': (await newApp()).login_app_id });
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
const lineOf = (line: number, content: object) => ({ line, text: JSON.stringify(content), repetition: 0 });
const ofAccount = async () => ({ account: (await newAccount()).account_id });
const ofPerson = async () => loginUser((await newOwner()).person);
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

/** Every operator command, as `NOUN VERB`. */
const commandScenarios: Record<string, Scenario> = Object.fromEntries(
  Object.entries<() => Promise<Flags>>({
    'accounts find': async () => ({ name: unique('nobody') }),
    'accounts show': ofAccount,
    'accounts rename': async () => ({ ...(await ofAccount()), name: 'New' }),
    'accounts create': async () => ({ name: 'Test' }),
    'accounts update': async () => ({ ...(await ofAccount()), access: 'read' }),
    'accounts disable': ofAccount,
    'accounts enable': async () => after('accounts disable', await ofAccount()),
    'accounts delete': async () => ({ account: (await newAccessRequest()).account.account_id }),
    'accounts revoke': async () => oldSecretOf('accounts', await ofAccount()),
    'login-apps find': async () => ({ name: unique('nobody') }),
    'login-apps show': ofApp,
    'login-apps rename': async () => ({ ...(await ofApp()), name: 'New' }),
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
    'login-apps tokens list': ofApp,
    'login-apps tokens revoke': async () => {
      const app = await ofApp();
      const { token_id } = await operate('login-apps', 'tokens create', { ...app, name: 'Test' });
      return { ...app, token: token_id };
    },
    'clients list': ofApp,
    'clients show': async () => ({ client: (await newApp()).client_id }),
    'clients find': async () => {
      const { login_app_id, client_secret } = await newApp();
      return { 'login-app': login_app_id, secret: client_secret };
    },
    'clients create': ofApp,
    'clients update': async () => ({ ...(await ofClient()), 'grant-types': 'none' }),
    'clients revoke': ofClient,
    'mobile-applications set': async () => ({ ...(await ofApp()), platform: 'ios' }),
    'mobile-applications remove': async () => ({ ...(await ofApp()), platform: 'android' }),
    'providers set': async () => ({
      ...(await ofApp()),
      provider: 'provider_f',
      settings,
    }),
    'providers remove': async () => ({ ...(await ofApp()), provider: 'provider_f' }),
    'providers check': async () => ({ ...(await ofApp()), provider: 'provider_f' }),
    'providers show': ofApp,
    'access-requests list': async () => ({ account: (await newAccessRequest()).account.account_id }),
    'access-requests show': async () => ({ 'access-request': (await newAccessRequest()).id }),
    'access-requests find': async () => {
      const flags = await ofAccount();
      await operate('access-requests', 'import', { ...flags, 'access-requests': [lineOf(1, { id: 7 })] });
      return { ...flags, 'imported-id': '7' };
    },
    'access-requests import': async () => ({
      ...(await ofAccount()),
      'access-requests': [lineOf(1, { id: 7 }), lineOf(2, { id: 'x' }), lineOf(3, { id: 7 })],
    }),
    'access-requests create': ofAccount,
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
    'events list': async () => ({ 'access-request': (await newAccessRequest()).id }),
    'events import': async () => {
      const access_request_id = (await newAccessRequest()).id;
      const event = { access_request_id, type: 'comment', actor_type: 'custom', actor_id: '7', comment: 'x' };
      return { events: [1, 2].map((line) => ({ line, text: JSON.stringify(event), repetition: line })) };
    },
    'events export': async () => ({ 'access-request': (await newAccessRequest()).id }),
    'signing-keys revoke': async () => ({ kid: (await stolenSigningKeys(running)).next.kid }),
    'probes create': async () => ({}),
    'probes remove': async () => {
      const { login_app_id, client_id, account_id } = await operate('probes', 'create', {});
      return { 'login-app': login_app_id, client: client_id, account: account_id };
    },
    'devices list': ofPerson,
    'devices import': async () => {
      const device = { platform: 'android', token: unique('phone'), installation_id: unique('installation') };
      return { ...(await ofApp()), devices: [{ line: 1, text: JSON.stringify(device), repetition: 0 }] };
    },
    'devices export': async () => ({ 'login-app': (await newOwner()).app.login_app_id }),
    'devices disable': async () => ({ device: (await newOwner()).phone }),
    'devices show': async () => ({ device: (await newOwner()).phone }),
    'devices find': async () => {
      const { login_app_id } = await newApp();
      const token = unique('phone');
      const appToken = await service.loginAppToken(await createClient(service, login_app_id));
      await service.register({ platform: 'android', token }, appToken);
      return { 'login-app': login_app_id, platform: 'android', token };
    },
    'login-users list': async () => ({ 'login-app': (await newOwner()).app.login_app_id }),
    'login-users show': ofPerson,
    'login-users find': async () => {
      const { app, person } = await newOwner();
      return { 'login-app': app.login_app_id, provider: 'provider_f', subject: person.subject };
    },
    'login-users block': ofPerson,
    'login-users unblock': async () => {
      const flags = await ofPerson();
      await operate('login-users', 'block', flags);
      return flags;
    },
    'login-users logout': ofPerson,
    'login-users delete': ofPerson,
    'login-users retry-revocations': async () => {
      const flags = await ofPerson();
      await operate('login-users', 'delete', flags);
      return flags;
    },
    'login-users export': ofPerson,
    'sessions list': ofPerson,
    'sessions show': async () => {
      const flags = await ofPerson();
      const { sessions } = await operate('sessions', 'list', flags);
      return { ...flags, session: (sessions as { session_id: string }[])[0]?.session_id };
    },
    'sessions find': async () => ({ token: (await newOwner()).person.token }),
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
    return { rotated, works: (await service.token({ grant_type: 'client_credentials' }, client)).status };
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

commandScenarios['login-apps delete, with everything'] = command('login-apps delete', async () => {
  const { app } = await newOwner();
  const flags = { 'login-app': app.login_app_id };
  await disabledLongAgo(flags);
  return { ...flags, 'with-everything': true };
});

// Other scenarios add to these lists.
for (const [noun, field] of [
  ['accounts', 'accounts'],
  ['login-apps', 'login_apps'],
] as const) {
  commandScenarios[`${noun} list`] = async () => async () =>
    Array.isArray((await operate(noun, 'list', {}))[field]);
}

/** What differs each time, replaced by what it is: ids, secrets, tokens, times, and the numbers of access requests. */
function withoutRandomness(value: unknown): unknown {
  const text = JSON.stringify(value)
    .replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"TIME"')
    .replaceAll(/"subject":"[^"]*"/g, '"subject":"SUBJECT"')
    .replaceAll(/"ey[\w-]+\.[\w-]+\.[\w-]+"/g, '"JWT"')
    .replaceAll(/"phone-[\d-]+"/g, '"PUSH_TOKEN"')
    .replaceAll(/"rt\.[\w.-]+"/g, '"REFRESH_TOKEN"')
    .replaceAll(/\b([a-z]{1,3})_[\w-]{43}(?![\w-])/g, '$1_…')
    .replaceAll(/\b([a-z]{1,3})_[\w-]{22}(?![\w-])/g, '$1_…')
    .replaceAll(/"(access_request_id|started_at|expires_at|sessions_valid_from)":\d+/g, '"$1":0')
    .replaceAll(/"id":\d+,"created_at"/g, '"id":0,"created_at"');
  return JSON.parse(text);
}

/** Sends a request, and loses the answer to one call of the store, such as `UpdateItem 1`. */
async function send(request: () => Promise<unknown>, lost?: string) {
  const calls: string[] = [];
  const counts = new Map<string, number>();
  proxy.hook = ({ operation }) => {
    const number = (counts.get(operation) ?? 0) + 1;
    counts.set(operation, number);
    const call = `${operation} ${number}`;
    calls.push(call);
    return call === lost ? 'answer lost' : undefined;
  };
  try {
    const answer = withoutRandomness(await request().catch((error) => ({ error: String(error) })));
    return { calls, answer };
  } finally {
    proxy.hook = () => undefined;
  }
}

/** Whichever answer of the store is lost, the caller gets what they get when none is. */
async function expectTheSame(scenario: Scenario): Promise<void> {
  const { calls, answer } = await send(await scenario());
  expect(calls).not.toEqual([]);
  expect(answer).not.toHaveProperty('error');
  expect(answer).not.toHaveProperty('status', 500);
  for (const lost of calls) {
    const again = await send(await scenario(), lost);
    expect({ lost, answer: again.answer }).toEqual({ lost, answer });
    expect(again.calls).toContain(lost);
    expect(again.calls.length).toBeGreaterThan(calls.length);
  }
}

const writes = ['PutItem', 'UpdateItem', 'DeleteItem'];
const endpointsThatWrite = [...(await readFunctions()).endpoints]
  .filter(([, { table }]) => Object.keys(table).some((action) => writes.includes(action)))
  .map(([name]) => name);
const commands = Object.entries(commandTable).flatMap(([noun, verbs]) =>
  Object.keys(verbs).map((verb) => `${noun} ${verb}`),
);

describe('an answer of the store that is lost changes no answer of an endpoint', () => {
  describe.each(endpointsThatWrite)('%s', (name) => {
    const scenarios = endpointScenarios[name] ?? { 'its example': exampleOf(name) };
    test.each(Object.entries(scenarios))('%s', (_, scenario) => expectTheSame(scenario));
  });
});

describe('an answer of the store that is lost changes no answer of the operator', () => {
  test('every command has a scenario', () => {
    expect(Object.keys(commandScenarios)).toEqual(expect.arrayContaining(commands));
  });

  test.each(Object.entries(commandScenarios))('%s', (_, scenario) => expectTheSame(scenario));
});
