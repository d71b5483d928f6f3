import { decodeJwt } from 'jose';
import { createAccount, createClient } from '../support/login-app.ts';
import { merge } from '../support/merges.ts';
import { accountOf } from '../support/people.ts';
import type { Service } from '../support/service.ts';
import {
  drafts,
  expecting,
  installed,
  type Left,
  type Login,
  lineOf,
  phone,
  providers,
  withKey,
} from './left.ts';
import { askAll, questionsAbout, run } from './questions.ts';

/**
 * Uses a new service until its table has items of every kind.
 * @throws Error when an answer is not as expected
 */
export async function fill(service: Service): Promise<Left> {
  const left = {
    demo: service.demo,
    ...(await fillWithPeople(service)),
    ...(await fillWithEvents(service)),
  };
  const answers = await askAll(service, questionsAbout(left));
  return { ...left, answers };
}

async function fillWithPeople(service: Service) {
  const { demo, operate, register, relate } = service;
  const { login_app_id } = demo.login_app;
  const logIn = async (
    subject: string,
    provider = 'provider_f',
    grant = 'provider_credentials',
  ): Promise<Login> => {
    const form = await service.loginForm(provider, { subject }, grant);
    const { access_token, refresh_token } = expecting(200, await service.token(form));
    const { sub, sid } = decodeJwt(access_token);
    return {
      subject,
      provider,
      id: String(sub),
      session: String(sid),
      access_token,
      refresh_token,
    };
  };
  const alice = await logIn('alice');
  const people: Left['people'] = { alice };
  for (const name of ['blocked', 'deleted', 'logged-out', 'leaving'])
    people[name] = await logIn(name);
  for (const provider of providers)
    people[provider] = await logIn(`somebody of ${provider}`, provider);
  // This version keeps the provider's refresh token of such a login.
  people['by code'] = await logIn('by code', 'provider_b', 'provider_authorization_code');
  people.kept = await logIn('kept');
  const givenUp = await logIn('given up');
  await accountOf(service, givenUp.access_token).linkAt('provider_a', 'given up at a');
  // A release has no such endpoint.
  const merged = await merge(service, { token: people.kept.access_token }, 'mine', 'given up');
  const guest = await newGuest(service);
  if (guest) people.guest = guest;
  const own = accountOf(service, alice.access_token);
  const linked = expecting(201, await own.linkAt('provider_a', 'alice at a'));
  const unlinked = expecting(201, await own.linkAt('provider_d', 'alice at d'));
  expecting(204, await own.unlink(unlinked.id));
  const second = await logIn('alice at a', 'provider_a');
  for (const [verb, name] of [
    ['block', 'blocked'],
    ['delete', 'deleted'],
    ['logout', 'logged-out'],
  ] as const)
    await operate('login-users', verb, { 'login-user': people[name]?.id });

  const appToken = await service.loginAppToken();
  const created = await run(operate, 'login-apps tokens create', {
    'login-app': login_app_id,
    name: 'App',
  });
  const longLived = { token: String(created.login_app_token), token_id: String(created.token_id) };
  const devices: Left['devices'] = {};
  for (const name of ['related', 'disabled', 'withoutOwner'])
    devices[name] = expecting(201, await register(phone(name), appToken)).id;
  const older = { ...installed, ...phone('replaced') };
  devices.replaced = expecting(201, await register(older, longLived.token)).id;
  devices.installed = expecting(201, await register(installed, longLived.token)).id;
  for (const name of ['related', 'installed'])
    expecting(200, await relate(devices[name], alice.access_token));
  await run(operate, 'devices disable', { device: devices.disabled });
  await run(operate, 'devices import', {
    'login-app': login_app_id,
    devices: lineOf(phone('imported')),
  });

  const { client_id: client } = demo.login_app;
  const rotated = await run(operate, 'clients rotate', { 'login-app': login_app_id, client });
  const limited = await createClient(service, login_app_id, { 'grant-types': 'none' });
  return {
    people,
    second,
    identityId: String(linked.id),
    givenUp,
    isMerged: merged.status === 200,
    appToken,
    longLived,
    devices,
    secondSecret: String(rotated.client_secret),
    limited,
  };
}

/** A guest; undefined where the version knows none. */
async function newGuest(service: Service): Promise<Login | undefined> {
  const { body } = await service.call('/.well-known/oauth-authorization-server');
  if (!body.grant_types_supported?.includes('guest')) return undefined;
  const tokens = expecting(200, await service.token({ grant_type: 'guest' }));
  const { access_token, refresh_token } = tokens;
  const { sub, sid } = decodeJwt(access_token);
  const nobody = { subject: 'nobody', provider: 'none' };
  return { ...nobody, id: String(sub), session: String(sid), access_token, refresh_token };
}

async function fillWithEvents({ demo, operate, createAccessRequest, addEvent }: Service) {
  const { id } = expecting(201, await createAccessRequest(withKey('creation')));
  const post = async (path: keyof typeof drafts): Promise<number> =>
    expecting(201, await addEvent(path, drafts[path], { id, ...withKey(path) })).id;
  const events = { comments: await post('comments'), reviews: await post('reviews') };
  expecting(201, await createAccessRequest({ body: { title: 'New hire', approvals_needed: 1 } }));
  const { account_id: account } = demo.other_account;
  await run(operate, 'access-requests grant', { 'access-request': id, account });
  const created_at = '2020-01-31T08:00:00Z';
  const old = { account, 'access-requests': lineOf({ id: 'old-7', created_at }) };
  await run(operate, 'access-requests import', old);
  const event = {
    access_request_id: id,
    created_at,
    updated_at: created_at,
    type: 'review',
    ...drafts.reviews,
  };
  await run(operate, 'events import', { events: lineOf(event) });
  const reader = await createAccount({ operate }, { name: 'Reader', access: 'read' });
  await run(operate, 'access-requests grant', { 'access-request': id, account: reader.account_id });
  const disabled = await createAccount({ operate }, { name: 'Disabled' });
  await run(operate, 'accounts disable', { account: disabled.account_id });
  return { accessRequestId: Number(id), events, reader, disabled };
}
