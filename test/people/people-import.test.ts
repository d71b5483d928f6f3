import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { expectError } from '../support/expectations.ts';
import { itemsAbout } from '../support/items-about.ts';
import { createLoginApp, type LoginApp } from '../support/login-app.ts';
import { operatorWithFiles } from '../support/operator.ts';
import { ownService } from '../support/own-service.ts';
import { accountOf, newPerson, subOf } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { isWrite } from '../support/store-proxy.ts';

const own = await sharedServiceWithStore();
const { service, running, proxy } = own;
const { fileOf, importFile } = operatorWithFiles(running);
const handler =
  'export const handler = async ({ external_id }) => ({ claims: { told: external_id } });';
const hook = fileOf(handler, 'hook.mjs');
const telling = await ownService({ LOGIN_HOOK: hook, EXTERNAL_ID_IN_TOKENS: 'true' });

const there = operatorWithFiles(telling.running);

const { login_app: app } = service.demo;
const issuer = `${service.demo.sandbox_url}/provider_f`;
const line = (external_id: string, subject = unique('person'), more: object = {}) => {
  const identity = { provider: 'provider_f', issuer, subject };
  return { ...identity, external_id, ...more };
};
const manyOthers = (length: number) => Array.from({ length }, () => line(unique('ext')));

const importPeople = (lines: unknown[], flags: string[] = [], { login_app_id } = app) =>
  importFile('login-users', fileOf(lines), '--login-app', login_app_id, ...flags);
const find = (external_id: string) =>
  service.operate('login-users', 'find', {
    'login-app': app.login_app_id,
    'external-id': external_id,
  });
const subjectsOf = ({ identities }: Record<string, unknown>) =>
  Object.values(Object(identities)).map((one) => Object(one).subject);
const logIn = (subject: string, provider = 'provider_f', client: LoginApp = app) =>
  service.logIn(subject, provider, client);

describe('operator login-users import FILE.ndjson', () => {
  test('a later login with any identity of a person is theirs, and shows their external id', async () => {
    const [id, google, oauth] = [unique('ext'), unique('google'), unique('oauth')];
    const profile = { name: 'Alice', email: 'alice@example.com' };
    const namespace = 'https://sandbox.example/provider_a';
    const lines = [line(id, google, { profile }), ...manyOthers(150)];
    expect((await importPeople(lines)).summary).toMatchObject({
      lines: 151,
      added: 151,
      refused: 0,
    });
    const found = await find(id);
    expect(found).toMatchObject({ external_id: id, identities: [{ subject: google, profile }] });
    expect(found).not.toHaveProperty('last_login_at');
    const login = await logIn(google);
    expect(subOf(login)).toBe(found.login_user_id);
    const { body } = await accountOf(service, login.body.access_token).show();
    expect(body).toMatchObject({
      external_id: id,
      identities: [{ last_login_at: body.last_login_at }],
    });
    expect(await find(id)).toHaveProperty('last_login_at');
    // Far from the first line, and of another provider.
    const more = { provider: 'provider_a', issuer: undefined, namespace };
    const { summary } = await importPeople([...lines, line(id, oauth, more)]);
    expect(summary).toMatchObject({ added: 1, already_there: 151 });
    const identities = [
      { subject: google, namespace: issuer },
      { subject: oauth, namespace },
    ];
    expect(await find(id)).toMatchObject({ identities });
  });

  test('lines of a person may stand anywhere in the file', async () => {
    const [id, first, second] = [unique('ext'), unique('first'), unique('second')];
    const { summary } = await importPeople([line(id, first), ...manyOthers(250), line(id, second)]);
    expect(summary).toMatchObject({ lines: 252, added: 252 });
    const { login_user_id } = await find(id);
    expect([subOf(await logIn(second)), subOf(await logIn(first))]).toEqual([
      login_user_id,
      login_user_id,
    ]);
  });

  test('somebody who has logged in before keeps their login id and what they have', async () => {
    const { account, loginUserId, subject } = await newPerson(service);
    const [id, other] = [unique('ext'), unique('other')];
    const before = (await account.show()).body;
    await importPeople([line(id, other), line(id, subject, { profile: { name: 'Other' } })]);
    const { body } = await account.show();
    expect(body).toMatchObject({
      ...before,
      external_id: id,
      identities: [before.identities[0], {}],
    });
    expect(subOf(await logIn(other))).toBe(loginUserId);
  });

  test('a subject under two external ids, and two people under one: all of their lines, and none is written', async () => {
    const [alice, bob] = [await newPerson(service), await newPerson(service)];
    const [one, other, both, shared] = [
      unique('one'),
      unique('other'),
      unique('both'),
      unique('shared'),
    ];
    const { code, summary } = await importPeople([
      line(one, shared),
      line(both, alice.subject),
      ...manyOthers(120),
      line(both, bob.subject),
      line(other, shared),
      line(other),
    ]);
    expect({ code, added: summary.added }).toEqual({ code: 2, added: 121 });
    expect(summary.reasons).toEqual([
      {
        reason: 'One subject has several external_ids: see lines 1, 124.',
        count: 2,
        lines: [1, 124],
      },
      {
        reason: 'The external_id belongs to several people: see lines 2, 123.',
        count: 2,
        lines: [2, 123],
      },
    ]);
    for (const id of [one, both])
      await expect(find(id)).rejects.toThrow('There is no such Login User.');
    expect((await alice.account.show()).body).not.toHaveProperty('external_id');
    const { summary: again } = await importPeople([
      line(one, alice.subject),
      line(unique('ext'), shared),
    ]);
    expect(again).toMatchObject({ added: 2 });
    const crossed = await importPeople([line(both, alice.subject), line(one, bob.subject)]);
    expect(crossed.summary.reasons).toEqual([
      { reason: 'The person has another external_id.', count: 1, lines: [1] },
      { reason: 'The external_id belongs to several people: see line 2.', count: 1, lines: [2] },
    ]);
  });

  test('names every wrong field of a line, and adds the others', async () => {
    const { code, summary } = await importPeople([
      '{"half',
      line(''),
      line('x'.repeat(201)),
      line(unique('ext'), '', { provider: 'provider_x' }),
      line(unique('ext'), 'a\u0000'),
      line(unique('ext'), undefined, { namespace: 'both' }),
      line('undefined', '(null)'),
      { external_id: 'only' },
      line(unique('ext')),
    ]);
    expect({ code, summary }).toMatchObject({
      code: 2,
      summary: { lines: 9, added: 1, refused: 8 },
    });
    type Reason = { reason: string; lines: number[] };
    const reasons = summary.reasons.map(({ lines, reason }: Reason) => [lines[0], reason]);
    const wrongSubject = 'subject must be a string of 1 to 255 characters.';
    expect(Object.fromEntries(reasons)).toEqual({
      1: 'The line is not JSON.',
      2: 'external_id must be a string of 1 to 200 characters.',
      4: expect.stringMatching(new RegExp(`^provider must be one of .*\\. ${wrongSubject}$`)),
      5: wrongSubject,
      6: 'Either issuer or namespace is required.',
      7: 'subject is a placeholder for a missing value, such as null. external_id is a placeholder for a missing value, such as null.',
      8: 'provider is required. subject is required.',
    });
  });

  test('claims that cannot be used keep nobody out: they are left out, and counted', async () => {
    const [id, other] = [unique('ext'), unique('ext')];
    const usable = { email: 'alice@example.com', email_verified: true };
    const profile = { ...usable, name: 'Alice\nExample', picture: 'no address', locale: null };
    const { code, summary } = await importPeople([
      line(id, undefined, { profile }),
      line(other, undefined, { profile: 'Bob' }),
      line(unique('ext'), undefined, { profile: null }),
      line(unique('ext'), undefined, { profile: { email: '', name: 7, shoe_size: 7 } }),
    ]);
    expect({ code, summary }).toMatchObject({
      code: 0,
      summary: {
        added: 4,
        ignored_fields: [{ field: 'profile.shoe_size', lines: 1 }],
        left_out_fields: [
          { field: 'profile.name', lines: 2 },
          { field: 'profile.picture', lines: 1 },
          { field: 'profile', lines: 1 },
        ],
      },
    });
    const [first] = Object.values(Object((await find(id)).identities));
    expect(Object(first).profile).toEqual(usable);
    const [ofOther] = Object.values(Object((await find(other)).identities));
    expect(ofOther).not.toHaveProperty('profile');
  });

  test('a dry run writes nothing, and counts the lines by issuer', async () => {
    proxy.forget();
    const unknown = { issuer: 'https://former.example' };
    const lines = [...manyOthers(2), line(unique('ext'), undefined, unknown), line('')];
    const { code, summary } = await importPeople(lines, ['--dry-run']);
    expect([code, proxy.calls().filter(isWrite)]).toEqual([2, []]);
    const counts = { lines: 4, added: 3, refused: 1, unknown_issuers: 1 };
    expect(summary).toMatchObject({
      ...counts,
      issuers: [
        { provider: 'provider_f', issuer, known: true, lines: 2 },
        { provider: 'provider_f', ...unknown, known: false, lines: 1 },
      ],
    });
  });

  test('--replace: a new subject takes the place of the former one, which is free then', async () => {
    const [id, former, next, other] = [
      unique('ext'),
      unique('former'),
      unique('next'),
      unique('other'),
    ];
    await importPeople([line(id, former), line(id, other, { issuer: 'https://other.example' })]);
    const { login_user_id } = await find(id);
    expect((await importPeople([line(id, next)], ['--replace'])).summary).toMatchObject({
      added: 1,
    });
    expect(subjectsOf(await find(id)).toSorted()).toEqual([next, other].toSorted());
    expect(subOf(await logIn(next))).toBe(login_user_id);
    expect(subOf(await logIn(former))).not.toBe(login_user_id);
    expect((await importPeople([line(id, next)], ['--replace'])).summary).toMatchObject({
      already_there: 1,
    });
  });

  test('of more than 20 identities besides the first, the last lines are refused', async () => {
    const id = unique('ext');
    const lines = Array.from({ length: 23 }, () => line(id));
    const reason = 'The Login User has 20 linked identities, which is the most. Unlink one first.';
    const { summary } = await importPeople(lines);
    expect(summary).toMatchObject({ added: 21, reasons: [{ reason, count: 2, lines: [22, 23] }] });
    const { summary: again } = await importPeople(lines);
    expect(again).toMatchObject({ added: 0, already_there: 21, refused: 2 });
    expect(subjectsOf(await find(id))).toHaveLength(21);
  });

  test('the external id leaves with the person', async () => {
    const [id, subject] = [unique('ext'), unique('leaving')];
    await importPeople([line(id, subject)]);
    const { login_user_id } = await find(id);
    const exported = await service.operate('login-users', 'export', {
      'login-user': login_user_id,
    });
    expect(exported).toMatchObject({ login_user: { external_id: id } });
    const { body } = await logIn(subject);
    expect((await accountOf(service, body.access_token).remove()).status).toBe(204);
    expect(await itemsAbout(own, id)).toEqual([]);
    expect((await itemsAbout(own, String(login_user_id))).map(({ sk }) => sk)).toEqual([
      'LOGIN_USER',
    ]);
    await expect(find(id)).rejects.toThrow('There is no such Login User.');
    await importPeople([line(id, subject)]);
    expect((await find(id)).login_user_id).not.toBe(login_user_id);
  });

  test('beside the first logins of the same people: each has one login id, with the external id', async () => {
    const people = Array.from({ length: 12 }, () => ({
      id: unique('ext'),
      subject: unique('person'),
    }));
    const imported = importPeople(people.map(({ id, subject }) => line(id, subject)));
    const subs = await Promise.all(people.map(async ({ subject }) => subOf(await logIn(subject))));
    expect((await imported).summary).toMatchObject({ added: 12, refused: 0 });
    const found = await Promise.all(people.map(({ id }) => find(id)));
    expect(found.map(({ login_user_id }) => login_user_id)).toEqual(subs);
  });

  test('two imports at once of one person, each with another identity: one person, and both can be repeated', async () => {
    const id = unique('ext');
    const lines = [line(id), line(id)];
    const outcomes = await Promise.all(lines.map((one) => importPeople([one])));
    expect(outcomes.some(({ summary }) => summary.added === 1)).toBe(true);
    expect((await importPeople(lines)).summary).toMatchObject({ refused: 0 });
    expect(subjectsOf(await find(id)).toSorted()).toEqual(
      lines.map(({ subject }) => subject).toSorted(),
    );
  });
});

test('an import of 100,000 lines, those of a person far apart, takes less than 200 MB of memory', async () => {
  const profile = { name: 'x'.repeat(150) };
  const lines = Array.from({ length: 100_000 }, (_, at) =>
    JSON.stringify(
      line(`external-${at % 50_000}`, `subject-${at === 99_999 ? 0 : at}`, { profile }),
    ),
  );
  const file = fileOf(lines);
  const send = `import { runImport } from './infra/operator/import-file.ts';
    import { personOfLine } from './lib/people/identities/import-people.ts';
    let together = 0;
    let most = 0;
    // Not the peak that the system counts: it begins with that of the process of the tests.
    const measure = () => (most = Math.max(most, process.memoryUsage.rss()));
    setInterval(measure, 10).unref();
    const idsOf = (batch) => batch.map(({ text }) => JSON.parse(text).external_id);
    const send = async (batch) => {
      measure();
      together += batch.length - new Set(idsOf(batch)).size;
      return { added: batch.length, repeated: 0, refused: [] };
    };
    const summary = await runImport({ file: process.argv[1], files: {}, grouping: personOfLine }, send, () => {});
    console.log(JSON.stringify({ ...summary, together, megabytes: most / 2 ** 20 }));`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    // A heap that may not grow: how far it would depends on how busy the machine is.
    [
      '--max-semi-space-size=2',
      '--max-old-space-size=90',
      '--input-type=module',
      '--eval',
      send,
      file,
    ],
    { env: { ...process.env, NODE_OPTIONS: '' } },
  );
  const { megabytes, ...summary } = JSON.parse(stdout);
  expect(summary).toEqual({
    lines: 100_000,
    added: 99_998,
    already_there: 0,
    refused: 2,
    together: 49_998,
    reasons: [
      {
        reason: 'One subject has several external_ids: see lines 1, 100000.',
        count: 2,
        lines: [1, 100_000],
      },
    ],
  });
  expect(megabytes).toBeLessThan(200);
}, 120_000);

describe('the external id', () => {
  test('is told to the login hook at each login, link and refresh; in tokens by a setting alone', async () => {
    const [id, first, linked] = [unique('ext'), unique('first'), unique('linked')];
    const { demo, logIn: logInThere, refresh, introspect } = telling.service;
    const at = { issuer: `${demo.sandbox_url}/provider_f` };
    const file = fileOf([line(id, first, at), line(id, linked, at)]);
    await there.importFile('login-users', file, '--login-app', demo.login_app.login_app_id);
    for (const subject of [first, linked]) {
      const { body } = await logInThere(subject);
      const { body: refreshed } = await refresh(body.refresh_token);
      for (const { access_token } of [body, refreshed]) {
        expect(decodeJwt(access_token)).toMatchObject({ ext_id: id, told: id });
        expect((await introspect(access_token)).body).toMatchObject({ active: true, ext_id: id });
      }
    }
    const stranger = await logInThere(unique('stranger'));
    const subject = unique('without');
    await importPeople([line(id, subject)]);
    for (const { body } of [stranger, await logIn(subject)])
      expect(decodeJwt(body.access_token)).not.toHaveProperty('ext_id');
  });
});

describe('login-apps update --sign-ups closed', () => {
  const setSignUps = (client: LoginApp, signUps: string) =>
    service.operate('login-apps', 'update', {
      'login-app': client.login_app_id,
      'sign-ups': signUps,
    });

  test('lets in only people who exist, who may link further identities', async () => {
    const client = await createLoginApp(service, unique('app'), {
      providers: ['provider_a', 'provider_f'],
    });
    await setSignUps(client, 'closed');
    const subject = unique('imported');
    await importPeople([line(unique('ext'), subject)], [], client);
    const refused = {
      status: 400,
      error: 'invalid_grant',
      naming: 'The Login App lets nobody new in.',
    };
    const stranger = unique('stranger');
    expectError(await logIn(stranger, 'provider_f', client), refused);
    expect(running.output()).toContain('"reason":"sign_ups_closed"');
    expect(await itemsAbout(own, stranger)).toEqual([]);
    const { body } = await logIn(subject, 'provider_f', client);
    const account = accountOf(service, body.access_token);
    expect((await account.linkAt('provider_f', stranger)).status).toBe(201);
    expect((await logIn(stranger, 'provider_f', client)).status).toBe(200);
    await account.remove();
    expectError(await logIn(subject, 'provider_f', client), refused);
    const shown = await service.operate('login-apps', 'show', { 'login-app': client.login_app_id });
    expect(shown).toMatchObject({ sign_ups: 'closed' });
  });

  test('closed meanwhile: a login is refused whole or let in whole; opened again, everybody is let in', async () => {
    const client = await createLoginApp(service, unique('app'), { providers: ['provider_f'] });
    const mark = unique('person');
    const subjects = Array.from({ length: 12 }, (_, at) => `${mark}-${at}.`);
    const [answers] = await Promise.all([
      Promise.all(subjects.map((subject) => logIn(subject, 'provider_f', client))),
      setSignUps(client, 'closed'),
    ]);
    const stored = JSON.stringify(await itemsAbout(own, mark));
    const areIn = answers.map(({ status }) => status === 200);
    expect(subjects.map((subject) => stored.includes(subject))).toEqual(areIn);
    await setSignUps(client, 'open');
    const later = await createLoginApp(service, unique('app'), { providers: ['provider_f'] });
    await setSignUps(later, 'closed');
    await setSignUps(later, 'open');
    expect((await logIn(unique('person'), 'provider_f', later)).status).toBe(200);
  });
});
