import assert from 'node:assert/strict';
import { decodeJwt } from 'jose';
import { merge } from '../support/merges.ts';
import { accountOf } from '../support/people.ts';
import type { Service } from '../support/service.ts';
import { unknownTo } from './later.ts';
import {
  drafts,
  expecting,
  installed,
  type Left,
  lineOf,
  phone,
  providers,
  withKey,
} from './left.ts';
import { askAll, questionsAbout, run } from './questions.ts';
import type { Release } from './releases.ts';

/**
 * Does with a service what everybody does who holds something of what was left.
 * @param release the version that has left it, or that is in use now
 * @throws AssertionError
 */
export async function use(service: Service, left: Left, release: Release): Promise<void> {
  await askAgain(service, left, release);
  await usePeople(service, left);
  await useMerged(service, left);
  await useDevices(service, left);
  await useEvents(service, left);
  await operateEverything(service, left);
}

/** Asks again. An answer may have got more fields and more members, and has lost none. */
async function askAgain(service: Service, left: Left, release: Release): Promise<void> {
  const known = questionsAbout(left).filter(({ about }) => about in left.answers);
  assert.equal(
    known.length,
    Object.keys(left.answers).length,
    'Some of what was asked is asked no longer.',
  );
  const samsIds = idsOfSam(left);
  const wrong = Object.entries(await askAll(service, known)).flatMap(([about, answer]) => {
    try {
      const before = stillTold(about, left.answers[about], release);
      const [now, then] = [answer, before].map((one) => sortedByName(withoutSam(one, samsIds)));
      assert.partialDeepStrictEqual(now, then);
      return [];
    } catch (error) {
      return [`${about}: ${error instanceof Error ? error.message : error}`];
    }
  });
  assert.equal(wrong.length, 0, wrong.join('\n\n'));
}

const samsPhone = 'sams-phone';

/**
 * The phone of sam, and the people whom nobody here has logged in: each start of 1.1 and later logs
 * sam in anew and registers his phone again, for the events of `sam local invoke`.
 */
function idsOfSam({ answers, people, second }: Left): Set<string> {
  const ids = new Set<string>();
  const known = [...Object.values(people), second].map(({ id }) => id);
  JSON.stringify(answers, (_, value: unknown) => {
    const { token, device_id, login_user_id } = Object(value);
    if (token === samsPhone) ids.add(String(device_id));
    if (login_user_id !== undefined && !known.includes(login_user_id))
      ids.add(String(login_user_id));
    return value;
  });
  return ids;
}

/** An answer without the members of lists that are sam's. */
function withoutSam(answer: unknown, samsIds: Set<string>): object {
  const isHis = (member: unknown): boolean => {
    const { token, device_id, login_user_id } = Object(member);
    if (token === samsPhone) return true;
    return samsIds.has(device_id) || (device_id === undefined && samsIds.has(login_user_id));
  };
  const others = (_: string, value: unknown) =>
    Array.isArray(value) ? value.filter((member) => !isHis(member)) : value;
  return JSON.parse(JSON.stringify(Object(answer), others));
}

/** Lists whose order is for people to read: versions differ in it. */
const listsForPeople = ['login_apps', 'accounts'];

/** An answer with such lists in one order. */
function sortedByName(answer: unknown): object {
  const sorted = (name: string, value: unknown) =>
    listsForPeople.includes(name) && Array.isArray(value)
      ? value.toSorted((a, b) => (a.name < b.name ? -1 : 1))
      : value;
  return JSON.parse(JSON.stringify(Object(answer), sorted));
}

/** An answer without what a release does not know. */
function withoutLater(answer: unknown, release: Release): object {
  const later = unknownTo(release);
  const known = (name: string, value: unknown) => {
    if (
      [...later.settings, ...later.fields].includes(name) ||
      /(_auth|dpop)_signing_alg_values_supported$/.test(name)
    )
      return undefined;
    if (!Array.isArray(value)) return value;
    if (/_auth_methods_supported$/.test(name))
      return value.filter((method) => !later.methods.includes(method));
    if (name === 'grant_types_supported')
      return value.filter((grant) => !later.grants.includes(grant));
    if (name === 'redirect_uris')
      return value.filter((address) => !later.addresses.includes(address));
    return name === 'optional'
      ? value.filter((parameter) => !later.parameters.includes(parameter))
      : value;
  };
  return JSON.parse(JSON.stringify(Object(answer), known));
}

/**
 * What an answer told that every version tells: without the times of a refresh token, which are
 * left out on purpose now.
 */
function stillTold(about: string, answer: unknown, release: Release): object {
  const told = withoutLater(answer, release);
  if (!about.endsWith('refresh_token introspect')) return told;
  const { body, ...others } = Object(told);
  const { iat, exp, ...lasting } = Object(body);
  return { ...others, body: lasting };
}

/** The errors of a refresh by people who may not go on. */
const refusals: Record<string, string> = {
  blocked: 'unauthorized_client',
  deleted: 'invalid_grant',
  'logged-out': 'invalid_grant',
};

async function usePeople(service: Service, { people, second, identityId }: Left): Promise<void> {
  const { logIn, refresh } = service;
  const subjectAfter = async (subject: string, provider: string) =>
    decodeJwt(expecting(200, await logIn(subject, provider)).access_token).sub;
  for (const provider of providers) {
    assert.equal(
      await subjectAfter(`somebody of ${provider}`, provider),
      people[provider]?.id,
      provider,
    );
  }
  for (const [name, { id, session, refresh_token }] of Object.entries({ ...people, second })) {
    const answer = await refresh(refresh_token);
    const refusal = refusals[name];
    if (refusal !== undefined) {
      assert.equal(expecting(400, answer).error, refusal, name);
      continue;
    }
    const { sub, sid } = decodeJwt(expecting(200, answer).access_token);
    assert.deepEqual({ sub, sid }, { sub: id, sid: session }, name);
    // The one that was replaced still gets its successor, as after an answer that was lost.
    expecting(200, await refresh(refresh_token));
  }
  assert.equal(expecting(400, await logIn('blocked')).error, 'invalid_grant');
  assert.notEqual(await subjectAfter('deleted', 'provider_f'), people.deleted?.id);
  assert.equal(await subjectAfter('alice at a', 'provider_a'), people.alice?.id);
  const alice = expecting(200, await logIn('alice')).access_token;
  expecting(204, await accountOf(service, alice).unlink(identityId));
  assert.notEqual(await subjectAfter('alice at a', 'provider_a'), people.alice?.id);
  const leaving = expecting(200, await logIn('leaving')).access_token;
  expecting(204, await accountOf(service, leaving).remove());
  assert.notEqual(await subjectAfter('leaving', 'provider_f'), people.leaving?.id);
  const { guest } = people;
  if (!guest) return;
  expecting(201, await accountOf(service, guest.access_token).linkAt('provider_a', guestAtA));
  assert.equal(await subjectAfter(guestAtA, 'provider_a'), guest.id);
}

const guestAtA = 'guest at a';

/**
 * Expects, of this version after an earlier one was in use, that the guest to whom that one has
 * linked an identity is a person.
 * @throws AssertionError
 */
export async function expectPerson(
  service: Service,
  { demo, people, secondSecret }: Left,
): Promise<void> {
  const { id } = people.guest ?? {};
  // The first secret was revoked meanwhile.
  const client = { ...demo.login_app, client_secret: secondSecret };
  const tokens = expecting(200, await service.logIn(guestAtA, 'provider_a', client));
  assert.equal(decodeJwt(tokens.access_token).sub, id);
  const shown = expecting(200, await accountOf(service, tokens.access_token).show());
  assert.equal(shown.guest, undefined);
  assert.equal(shown.identities.length, 1);
}

/**
 * Uses the identities of somebody who was merged, by this version: it merges what a release has left.
 * No version gives the id to anybody.
 */
async function useMerged(service: Service, { people, givenUp, isMerged }: Left): Promise<void> {
  const logIn = async (subject: string, provider = 'provider_f') => {
    const { access_token } = expecting(200, await service.logIn(subject, provider));
    return { token: String(access_token), id: decodeJwt(access_token).sub };
  };
  const kept = await logIn('kept');
  if (!isMerged) expecting(200, await merge(service, kept, 'mine', 'given up'));
  assert.equal(expecting(400, await service.refresh(givenUp.refresh_token)).error, 'invalid_grant');
  const logins = async () => [await logIn('given up'), await logIn('given up at a', 'provider_a')];
  const isKept = async () => {
    for (const { id } of await logins()) assert.equal(id, people.kept?.id);
  };
  await isKept();
  for (const verb of ['delete', 'block', 'logout'])
    await assert.rejects(service.operate('login-users', verb, { 'login-user': givenUp.id }));
  await run(service.operate, 'login-users finish-deletions');
  await isKept();
  expecting(204, await accountOf(service, kept.token).remove());
  for (const { id } of await logins())
    assert.ok(id !== givenUp.id && id !== people.kept?.id, 'An id was given to somebody else.');
}

async function useDevices(
  service: Service,
  { people, devices, appToken, longLived }: Left,
): Promise<void> {
  const { register, relate } = service;
  for (const name of ['related', 'disabled', 'withoutOwner', 'imported'])
    for (const token of [appToken, longLived.token]) {
      const { id } = expecting(200, await register(phone(name), token));
      assert.equal(id, devices[name] ?? id, name);
    }
  const token = people.alice?.access_token ?? '';
  expecting(200, await relate(devices.disabled, token));
  const { id } = expecting(201, await register({ ...installed, ...phone('successor') }, appToken));
  const ids = expecting(200, await service.listDevices(token)).devices.map(
    (one: { id: string }) => one.id,
  );
  assert.deepEqual(ids.toSorted(), [devices.related, devices.disabled, id].toSorted());
}

async function useEvents(service: Service, { accessRequestId: id, events }: Left): Promise<void> {
  const repeated = expecting(201, await service.createAccessRequest(withKey('creation')));
  assert.equal(repeated.id, id);
  for (const path of ['comments', 'reviews'] as const) {
    const again = expecting(
      201,
      await service.addEvent(path, drafts[path], { id, ...withKey(path) }),
    );
    assert.equal(again.id, events[path]);
  }
  const { total } = expecting(200, await service.search('', { id }));
  assert.equal(
    expecting(201, await service.addEvent('comments', drafts.comments, { id })).id,
    total + 1,
  );
  assert.equal(expecting(200, await service.search('', { id })).total, total + 1);
  const isToday = await run(service.operate, 'access-requests index').then(
    () => true,
    () => false,
  );
  if (isToday) {
    const { body } = await service.accessRequests('?page_size=100');
    assert.ok(
      body.results.some((one: { id: number }) => one.id === id),
      'It is not in the list.',
    );
  }
  const fresh = expecting(201, await service.createAccessRequest());
  assert.ok(fresh.id > id, 'An id of an access request was given twice.');
}

/** Carries out the commands that change something, on what was there before. */
async function operateEverything({ operate, demo }: Service, left: Left): Promise<void> {
  const {
    login_app,
    other_login_app,
    other_account,
    account,
    login_app_without_mobile_application,
  } = demo;
  const app = { 'login-app': login_app.login_app_id };
  const other = { 'login-app': other_login_app.login_app_id };
  const request = { 'access-request': left.accessRequestId };
  const actor = { ...request, 'actor-type': 'custom', 'actor-id': 'risk-desk' };
  const blocked = { 'login-user': left.people.blocked?.id };
  const alice = { 'login-user': left.people.alice?.id };
  const secretIdOf = async (words: string, flags: object) => {
    const { secrets } = await run(operate, words, { ...flags });
    return String(Object(secrets)[0]?.secret_id);
  };
  const client = { client: login_app.client_id };
  const clientSecret = await secretIdOf('clients show', client);
  const ofAccount = { account: account.account_id };
  const accountSecret = await secretIdOf('accounts show', ofAccount);
  const created_at = '2020-01-31T08:00:00Z';
  const old = lineOf({ id: 'old-7', created_at });
  const commands: [words: string, flags: Record<string, unknown>][] = [
    ['login-users unblock', blocked],
    ['login-users block', blocked],
    ['login-users logout', alice],
    ['login-users retry-revocations', alice],
    ['login-users delete', blocked],
    ['devices disable', { device: left.devices.withoutOwner }],
    ['devices import', { ...app, devices: lineOf(phone('imported')) }],
    ['comments add', { ...actor, comment: 'Fine.' }],
    ['reviews add', { ...actor, status: 'approved' }],
    ['access-requests create', ofAccount],
    ['access-requests import', { account: other_account.account_id, 'access-requests': old }],
    ['access-requests revoke', { ...request, account: other_account.account_id }],
    ['access-requests grant', { ...request, account: other_account.account_id }],
    ['accounts rename', { ...ofAccount, name: 'Renamed' }],
    ['accounts update', { account: left.reader.account_id, access: 'read-write' }],
    ['accounts enable', { account: left.disabled.account_id }],
    ['accounts rotate', ofAccount],
    ['accounts revoke', { ...ofAccount, secret: accountSecret }],
    ['accounts delete', { account: left.reader.account_id }],
    ['clients update', { ...app, client: left.limited.client_id, 'grant-types': 'all' }],
    ['clients revoke', { ...app, ...client, secret: clientSecret }],
    ['clients rotate', { ...app, ...client }],
    ['clients revoke', { ...app, client: left.limited.client_id }],
    ['login-apps tokens revoke', { ...app, token: left.longLived.token_id }],
    ['login-apps rename', { ...app, name: 'Renamed' }],
    ['login-apps disable', other],
    ['login-apps enable', other],
    ['login-apps logout', app],
    ['login-apps undo-logout', app],
    ...providers.map((provider): (typeof commands)[number] => [
      'providers check',
      { ...app, provider },
    ]),
    ['providers remove', { ...other, provider: 'provider_a' }],
    ['mobile-applications remove', { ...other, platform: 'ios' }],
    ['mobile-applications set', { ...other, platform: 'ios' }],
    [
      'login-apps delete',
      { 'login-app': login_app_without_mobile_application.login_app_id, 'with-everything': true },
    ],
  ];
  for (const [words, flags] of commands) {
    const result = await run(operate, words, flags).catch((error: unknown) => {
      throw new Error(`${words}: ${error}`);
    });
    if (words === 'providers check')
      assert.ok(result.ok, `${words} ${flags.provider}: ${JSON.stringify(result.checks)}`);
  }
}
