import { describe, test } from '@jest/globals';
import { readFunctions } from '../../infra/endpoints.ts';
import { shardOf } from '../../lib/devices/device.ts';
import { newClientKey, secretlessClients } from '../support/client-assertions.ts';
import { eventOf, filledIn, requestOf } from '../support/event-files.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { type Scenario, serviceThatLosesAnswers } from '../support/lost-answers.ts';
import { accountOf, identityIdsOf, newPerson, newPhone, type Person } from '../support/people.ts';
import { newPublicClient, newPhone as startPhone } from '../support/phone.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { type Answer, unique } from '../support/service.ts';
import { listsLag } from '../support/store-proxy.ts';
import { hexToken } from '../support/tokens.ts';

const { service, proxy, newAccount, newApp, newAccessRequest, newOwner, expectTheSame } =
  await serviceThatLosesAnswers();
const { operate } = service;
const standIn = await startProviderStandIn();

const shown = ({ status, body }: Answer) => ({ status, body });

/** A person with two sessions, a phone and a linked identity. */
const newManager = async () => {
  const { app, person } = await newOwner();
  const tablet = await newPerson(service, person.subject, app);
  const account = accountOf(service, person.token);
  await account.linkAt('provider_f', unique('linked'));
  return { app, person, account, tablet: accountOf(service, tablet.token) };
};
/** A notification of an issuer about a person with two sessions; the issuer's keys are known. */
const notification = async (settings: object): Promise<() => Promise<unknown>> => {
  const { logIn, setOf, push, ...apple } = await newIssuerLogin(service, standIn, settings);
  for (let logins = 0; logins < 2; logins += 1) await logIn();
  if ('notifications' in settings) {
    const set = await setOf('risc/event-type/account-disabled', {}, { reason: 'hijacking' });
    return async () => shown(await push(set));
  }
  const payload = await apple.notification('consent-revoked');
  return async () => shown(await apple.post(payload));
};
const loginUser = ({ loginUserId }: Person) => ({ 'login-user': loginUserId });
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

const byAssertion = async (endpoint: string, form: Record<string, string>) => {
  const [app, key] = [await newApp(), await newClientKey()];
  const { create, assertion, send } = secretlessClients(service);
  const client = await create({ 'jwks-file': { keys: [key.jwk] } }, app.login_app_id);
  const signed = await assertion(client, key);
  return async () => shown(await send(signed, form, { endpoint }));
};

/** What endpoints that write are asked, by the names of their functions; the others are asked their example. */
const endpointScenarios: Record<string, Record<string, Scenario>> = {
  'issue-nonce': { 'an assertion': () => byAssertion('nonce', {}) },
  'introspect-token': { 'an assertion': () => byAssertion('introspect', { token: 'x' }) },
  'issue-token': {
    'provider credentials': async () => {
      const app = await newApp();
      const form = await service.loginForm('provider_f');
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
    'an assertion': async () => {
      return byAssertion('token', await service.loginForm('provider_f'));
    },
    'a phone with a nonce': async () => {
      const { login_app_id } = await newApp();
      const phone = await startPhone(service, await newPublicClient(service, { login_app_id }));
      const form = await phone.loginForm();
      const proof = await phone.proof('token');
      return async () => shown(await phone.send('token', form, proof));
    },
    'the credentials of a linked identity': async () => {
      const { app, person } = await newOwner();
      const account = accountOf(service, person.token);
      const subject = unique('bob');
      await account.linkAt('provider_f', subject);
      const form = await service.loginForm('provider_f', { subject });
      return async () => shown(await service.token(form, app));
    },
    'the credentials of somebody who was deleted': async () => {
      const { app, person } = await newOwner();
      await operate('login-users', 'delete', loginUser(person));
      const form = await service.loginForm('provider_f', { subject: person.subject });
      return async () => shown(await service.token(form, app));
    },
    'a refresh token': async () => {
      const { app, person } = await newOwner();
      return async () => shown(await service.refresh(person.refreshToken, app));
    },
    'an outdated refresh token': async () => {
      const { app, person } = await newOwner();
      const refresh = (refresh_token: string) => service.refresh(refresh_token, app);
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
      const subject = unique('bob');
      return async () => shown(await account.linkAt('provider_f', subject));
    },
    'one that is theirs': async () => {
      const { account, person } = await newManager();
      return async () => shown(await account.linkAt('provider_f', person.subject));
    },
    "one that is another person's": async () => {
      const { app, account } = await newManager();
      const { subject } = await newPerson(service, unique('bob'), app);
      return async () => shown(await account.linkAt('provider_f', subject));
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
    'that is a security event': async () => notification({ notifications: {} }),
  },
  'revoke-token': {
    'a refresh token': async () => {
      const { app, person } = await newOwner();
      return async () => shown(await service.revoke(person.refreshToken, app));
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
      return async () => shown(await service.recipients(`login_user_id=${person.loginUserId}`, app));
    },
    'a shard': async () => {
      const { app, phone } = await newOwner();
      const shard = Number(shardOf(app.login_app_id, phone).slice(-2));
      return async () => shown(await service.recipients(`shard=${shard}&limit=10`, app));
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
      await proxy.during(listsLag, () => service.revoke(person.refreshToken, app));
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
    'with a reference': async () => {
      const options = { account: await newAccount(), body: { reference: 'case-1', approvals_needed: 2 } };
      return async () => shown(await service.createAccessRequest(options));
    },
  },
  'search-access-requests': {
    'with more marks than a search leaves': async () => {
      const account = await newAccount();
      for (let made = 0; made < 11; made += 1) await service.createAccessRequest({ account });
      return async () => {
        const { status, body } = await service.accessRequests('?decision=none', account);
        return { status, total: body.total, count: body.results.length };
      };
    },
  },
  'show-access-request': {
    'that is pending': async () => {
      const account = await newAccount();
      const { id } = (await service.createAccessRequest({ account, body: { approvals_needed: 1 } })).body;
      return async () => (await service.accessRequests(`/${id}`, account)).body.decision;
    },
  },
  'add-comment': {
    'without a key': write('comments', {}),
    'with a key': write('comments', {}, withKey),
  },
  'add-review': {
    'with a key': write('reviews', { status: 'approved' }, withKey),
    'that decides, with a key': async () => {
      const account = await newAccount();
      const body = { approvals_needed: 1, expires_at: '2999-01-31T08:00:00Z' };
      const { id } = (await service.createAccessRequest({ account, body })).body;
      const review = { actor_type: 'custom', actor_id: '7', status: 'approved' };
      const options = { id, account, headers: withKey() };
      return async () => {
        const added = shown(await service.addEvent('reviews', review, options));
        const { decision, approvals } = (await service.accessRequests(`/${id}`, account)).body;
        return [added, { decision, approvals }];
      };
    },
  },
};

const writes = ['PutItem', 'UpdateItem', 'DeleteItem'];
const endpointsThatWrite = [...readFunctions().endpoints]
  .filter(([, { table }]) => Object.keys(table).some((action) => writes.includes(action)))
  .map(([name]) => name);

describe('an answer of the store that is lost changes no answer of an endpoint', () => {
  describe.each(endpointsThatWrite)('%s', (name) => {
    const scenarios = endpointScenarios[name] ?? { 'its example': exampleOf(name) };
    test.each(Object.entries(scenarios))('%s', (_, scenario) => expectTheSame(scenario));
  });
});
