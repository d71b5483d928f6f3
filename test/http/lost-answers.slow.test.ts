import { describe, test } from '@jest/globals';
import { readFunctions } from '../../infra/endpoints.ts';
import { tableRightsOf } from '../../infra/table-rights.ts';
import { shardOf } from '../../lib/devices/device.ts';
import { newClientKey, secretlessClients } from '../support/client-assertions.ts';
import { eventOf, filledIn, requestOf } from '../support/event-files.ts';
import { newGuest, newGuestPhone } from '../support/guests.ts';
import { newIssuerLogin } from '../support/issuer-login.ts';
import { type Scenario, serviceThatLosesAnswers } from '../support/lost-answers.ts';
import { mergeForm, sendMerge } from '../support/merges.ts';
import { deviceIdsOf, identityIdsOf, newPerson, newPhone } from '../support/people.ts';
import { newPublicClient, newPhone as startPhone } from '../support/phone.ts';
import { newGrants, newKeeper } from '../support/provider-access.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { unique } from '../support/service.ts';
import { listsLag } from '../support/store-proxy.ts';
import { byId } from '../support/token-exchange.ts';

const { service, proxy, newAccount, newApp, newAccessRequest, newOwner, expectTheSame } =
  await serviceThatLosesAnswers();
const { operate } = service;
const standIn = await startProviderStandIn();

type Request = () => Promise<unknown>;
/** A scenario that begins with something new. */
const from =
  <Needed>(
    make: () => Promise<Needed>,
    prepare: (made: Needed) => Request | Promise<Request>,
  ): Scenario =>
  async () =>
    prepare(await make());
/** A scenario that needs nothing else. */
const asking = <Needed>(make: () => Promise<Needed>, request: (made: Needed) => Promise<unknown>) =>
  from(make, (made) => () => request(made));

/** A person with two sessions, a phone and a linked identity. */
const newManager = async () => {
  const { app, person } = await newOwner();
  const tablet = await newPerson(service, person.subject, app);
  const { account } = person;
  await account.linkAt('provider_f', unique('linked'));
  return { app, person, account, tablet: tablet.account };
};
/** A notification of an issuer about a person with two sessions; the issuer's keys are known. */
const notification = (settings: object) =>
  from(
    () => newIssuerLogin(service, standIn, settings),
    async ({ logIn, setOf, push, ...apple }) => {
      for (let logins = 0; logins < 2; logins += 1) await logIn();
      if ('notifications' in settings) {
        const set = await setOf('risc/event-type/account-disabled', {}, { reason: 'hijacking' });
        return () => push(set);
      }
      const payload = await apple.notification('consent-revoked');
      return () => apple.post(payload);
    },
  );
const write = (path: 'comments' | 'reviews', more: object, headers = () => ({})) =>
  from(newAccessRequest, (about) => {
    const event = { actor_type: 'custom', actor_id: '7', comment: 'x', ...more };
    const options = { ...about, headers: headers() };
    return () => service.addEvent(path, event, options);
  });
const withKey = () => ({ 'idempotency-key': unique('key') });

/** A Login App that lets in guests, three in an hour; nothing has used it yet. */
const newGuestsApp = async () => {
  const { login_app_id, ...app } = await newApp();
  const rules = { 'per-hour': 3, 'per-client-per-hour': 3 };
  await operate('login-apps', 'set-guests', { 'login-app': login_app_id, days: 7, ...rules });
  const publicClient = await newPublicClient(service, { login_app_id });
  return { ...app, login_app_id, publicClient };
};
const newGuestOfPhone = async () => newGuestPhone(service, (await newGuestsApp()).publicClient);

/** The example of an endpoint's record, with credentials and ids that exist. It must succeed. */
const exampleOf = (key: string) =>
  from(newOwner, async ({ app, person, phone }) => {
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
      const answer = await service.call(path, init);
      if (answer.status >= 300)
        throw new Error(`Give it a scenario: its example ends in ${answer.status}.`);
      return answer;
    };
  });

const byAssertion = (endpoint: string, formOf: () => Promise<Record<string, string>>) =>
  from(newApp, async ({ login_app_id }) => {
    const key = await newClientKey();
    const form = await formOf();
    const { create, assertion, send } = secretlessClients(service);
    const client = await create({ 'jwks-file': { keys: [key.jwk] } }, login_app_id);
    const signed = await assertion(client, key);
    return () => send(signed, form, { endpoint });
  });
const newLoginForm = (subject = unique('alice')) => service.loginForm('provider_f', { subject });

/**
 * What endpoints that write are asked, by the names of their functions; the others are asked their
 * example.
 */
const endpointScenarios: Record<string, Record<string, Scenario>> = {
  'issue-nonce': { 'an assertion': byAssertion('nonce', async () => ({})) },
  'introspect-token': { 'an assertion': byAssertion('introspect', async () => ({ token: 'x' })) },
  'issue-token': {
    'provider credentials': from(newApp, async (app) => {
      const form = await newLoginForm();
      return () => service.token(form, app);
    }),
    'an authorization code': async () => {
      const form = await service.loginForm('provider_b', {}, 'provider_authorization_code');
      // From now on the settings of the provider are cached, so that each attempt makes the same
      // calls.
      await service.logIn(unique('alice'), 'provider_b');
      return () => service.token(form);
    },
    'an assertion': byAssertion('token', newLoginForm),
    'a phone with a nonce': from(newApp, async ({ login_app_id }) => {
      const phone = await startPhone(service, await newPublicClient(service, { login_app_id }));
      const form = await phone.loginForm();
      const proof = await phone.proof('token');
      return () => phone.send('token', form, proof);
    }),
    guest: from(newGuestsApp, (app) => () => service.token({ grant_type: 'guest' }, app)),
    'guest, one too many in an hour': from(newGuestsApp, async (app) => {
      for (let made = 0; made < 3; made += 1) await newGuest(service, app);
      return () => service.token({ grant_type: 'guest' }, app);
    }),
    'a guest of a phone': from(newGuestsApp, async ({ publicClient }) => {
      const phone = await startPhone(service, publicClient);
      const proof = await phone.proof('token');
      return () => phone.send('token', { grant_type: 'guest' }, proof);
    }),
    'the credentials of a linked identity': from(newOwner, async ({ app, person }) => {
      const subject = unique('bob');
      await person.account.linkAt('provider_f', subject);
      const form = await newLoginForm(subject);
      return () => service.token(form, app);
    }),
    'the credentials of somebody who was deleted': from(newOwner, async ({ app, person }) => {
      await operate('login-users', 'delete', { 'login-user': person.loginUserId });
      const form = await newLoginForm(person.subject);
      return () => service.token(form, app);
    }),
    'a token exchange that refreshes': async () => {
      const grants = newGrants({ rotates: true, lifetime: 30 });
      const { logIn, exchangeById } = await newKeeper(service, standIn, { grants, rights: byId });
      const { loginUserId } = await logIn();
      return async () => {
        const { status, body } = await exchangeById(loginUserId);
        return { status, scope: body.scope, refreshes: grants.refreshes };
      };
    },
    'a token exchange that finds that the grant has ended': async () => {
      const grants = newGrants({ lifetime: 30 });
      const { logIn, exchangeById } = await newKeeper(service, standIn, { grants, rights: byId });
      const { loginUserId, account } = await logIn();
      grants.end();
      return async () => {
        const { status, body } = await exchangeById(loginUserId);
        return { status, code: body.error, person: (await account.show()).body };
      };
    },
    'a refresh token': asking(newOwner, ({ app, person }) =>
      service.refresh(person.refreshToken, app),
    ),
    'an outdated refresh token': from(newOwner, async ({ app, person }) => {
      const refresh = (refresh_token: string) => service.refresh(refresh_token, app);
      await refresh((await refresh(person.refreshToken)).body.refresh_token);
      return () => refresh(person.refreshToken);
    }),
  },
  'delete-login-user': {
    'with all that a person can have': asking(newManager, ({ account }) => account.remove()),
    'of a guest of a phone': from(newGuestOfPhone, async ({ remove, proof }) => {
      const proven = await proof('DELETE');
      return () => remove(proven);
    }),
  },
  'end-all-sessions': {
    'all of them': asking(newManager, ({ account }) => account.endSessions()),
    'all others': asking(newManager, ({ tablet }) => tablet.endSessions('?except=current')),
  },
  'end-session': {
    'another one': asking(newManager, ({ tablet, person }) => tablet.endSession(person.sessionId)),
  },
  'link-identity': {
    'a new one': asking(newManager, ({ account }) => account.linkAt('provider_f', unique('bob'))),
    'the first one of a guest of a phone': from(newGuestOfPhone, async ({ phone, link, proof }) => {
      const { grant_type: _, ...form } = await phone.loginForm();
      const proven = await proof('POST', '/identities');
      return () => link(form, proven);
    }),
    'one that is theirs': asking(newManager, ({ account, person }) =>
      account.linkAt('provider_f', person.subject),
    ),
    "one that is another person's": from(newManager, async ({ app, account }) => {
      const { subject } = await newPerson(service, unique('bob'), app);
      return () => account.linkAt('provider_f', subject);
    }),
  },
  'merge-login-users': {
    ...Object.fromEntries(
      ['mine', 'theirs'].map((keep) => [
        `keep=${keep}`,
        from(newManager, async ({ app, person }) => {
          const other = await newPerson(service, unique('other'), app);
          const phone = await newPhone(service, await service.loginAppToken(app));
          await service.relate(phone, other.token);
          const form = await mergeForm(service, keep, other.subject);
          return () => sendMerge(service, person, form);
        }),
      ]),
    ),
    'one that is theirs': from(newManager, async ({ person }) => {
      const form = await mergeForm(service, 'mine', person.subject);
      return () => sendMerge(service, person, form);
    }),
  },
  'unlink-identity': Object.fromEntries(
    ['the first one', 'a linked one'].map((which, place) => [
      which,
      from(newManager, async ({ account }) => {
        const id = identityIdsOf(await account.show())[place] ?? '';
        return () => account.unlink(id);
      }),
    ]),
  ),
  'receive-notification': {
    'that ends sessions': notification({}),
    'that deletes': notification({ on_consent_revoked: 'delete' }),
    'that is a security event': notification({ notifications: {} }),
    'that deletes, about one of two identities': from(
      () => newIssuerLogin(service, standIn, { on_consent_revoked: 'delete' }),
      async ({ logIn, scene, notification: newNotification, post }) => {
        const { account } = await logIn();
        await account.link({
          provider: 'provider_f',
          id_token: await scene.idToken({ sub: unique('bob') }),
        });
        const payload = await newNotification('consent-revoked');
        return () => post(payload);
      },
    ),
  },
  'revoke-token': {
    'a refresh token': asking(newOwner, ({ app, person }) =>
      service.revoke(person.refreshToken, app),
    ),
    'a refresh token of a guest': from(newGuestsApp, async (app) => {
      const { refreshToken } = await newGuest(service, app);
      return () => service.revoke(refreshToken, app);
    }),
  },
  'register-device': {
    'a new device': from(newApp, async (app) => {
      const token = await service.loginAppToken(app);
      return () => service.register({ platform: 'android', token: unique('phone') }, token);
    }),
    'a known device': from(newApp, async (app) => {
      const token = await service.loginAppToken(app);
      const device = { platform: 'android', token: unique('phone') };
      await service.register(device, token);
      return () => service.register(device, token);
    }),
    'another token of an installation': from(newOwner, async ({ app, person }) => {
      const token = await service.loginAppToken(app);
      const installation_id = unique('installation');
      const device = () => ({ platform: 'android', token: unique('phone'), installation_id });
      await service.relate((await service.register(device(), token)).body.id, person.token);
      return async () => {
        const { status, body } = await service.register(device(), token);
        return { status, isTheirs: (await deviceIdsOf(service, person)).includes(body.id) };
      };
    }),
  },
  'list-recipients': {
    'a person': asking(newOwner, ({ app, person }) =>
      service.recipients(`login_user_id=${person.loginUserId}`, app),
    ),
    'a shard': from(newOwner, ({ app, phone }) => {
      const shard = Number(shardOf(app.login_app_id, phone).slice(-2));
      return () => service.recipients(`shard=${shard}&limit=10`, app);
    }),
  },
  'relate-device': {
    'a new device': from(newOwner, async ({ app, person }) => {
      const phone = await newPhone(service, await service.loginAppToken(app));
      return () => service.relate(phone, person.token);
    }),
    'a device that is theirs already': asking(newOwner, ({ person, phone }) =>
      service.relate(phone, person.token),
    ),
    "another person's device": from(newOwner, async ({ app, phone }) => {
      const next = await newPerson(service, unique('bob'), app);
      return () => service.relate(phone, next.token);
    }),
  },
  'list-devices': {
    'a relation that outlived its session': from(newOwner, async ({ app, person }) => {
      const tablet = await newPerson(service, person.subject, app);
      await proxy.during(listsLag, () => service.revoke(person.refreshToken, app));
      return () => service.listDevices(tablet.token);
    }),
  },
  'create-access-request': {
    'without a key': asking(newAccount, (account) => service.createAccessRequest({ account })),
    'with a key': from(newAccount, (account) => {
      const options = { account, headers: withKey() };
      return () => service.createAccessRequest(options);
    }),
    'with a reference': from(newAccount, (account) => {
      const options = { account, body: { reference: 'case-1', approvals_needed: 2 } };
      return () => service.createAccessRequest(options);
    }),
  },
  'add-comment': {
    'without a key': write('comments', {}),
    'with a key': write('comments', {}, withKey),
  },
  'add-review': {
    'with a key': write('reviews', { status: 'approved' }, withKey),
    'that decides, with a key': from(newAccount, async (account) => {
      const body = { approvals_needed: 1, expires_at: '2999-01-31T08:00:00Z' };
      const { id } = (await service.createAccessRequest({ account, body })).body;
      const review = { actor_type: 'custom', actor_id: '7', status: 'approved' };
      const options = { id, account, headers: withKey() };
      return async () => {
        const added = await service.addEvent('reviews', review, options);
        const { decision, approvals } = (await service.accessRequests(`/${id}`, account)).body;
        return [added, { decision, approvals }];
      };
    }),
  },
};

const writes = ['PutItem', 'UpdateItem', 'DeleteItem'];
const endpointsThatWrite = [...readFunctions().endpoints]
  .filter(([, endpoint]) => tableRightsOf(endpoint).some(({ action }) => writes.includes(action)))
  .map(([name]) => name);

describe('an answer of the store that is lost changes no answer of an endpoint', () => {
  describe.each(endpointsThatWrite)('%s', (name) => {
    const scenarios = endpointScenarios[name] ?? { 'its example': exampleOf(name) };
    test.each(Object.entries(scenarios))('%s', (_, scenario) => expectTheSame(scenario));
  });
});
