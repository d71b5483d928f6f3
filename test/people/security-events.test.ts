import { describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { sessionKey } from '../../lib/storage/keys.ts';
import { expectError } from '../support/expectations.ts';
import { removeItem } from '../support/items-about.ts';
import { writtenDuring } from '../support/log-lines.ts';
import { accountOf, isIn, newPhone } from '../support/people.ts';
import {
  type Claims,
  codeExchangeAt,
  ourApp,
  startProviderStandIn,
} from '../support/provider-stand-in.ts';
import {
  issuersAt,
  logoutEvent,
  type ToldPerson as Made,
  newToldPerson,
} from '../support/security-events.ts';
import { type Answer, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import type { StoreCall } from '../support/store-proxy.ts';

const { running, service, proxy, dynamoDb, tableName } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();

const uris = 'https://schemas.openid.net/secevent/';
const purged = 'risc/event-type/account-purged';
const revoked = 'caep/event-type/session-revoked';
const day = 86_400;

const { now } = running;
const newPerson = (notifications: object | null = {}): Promise<Made> =>
  newToldPerson(service, standIn, now, notifications);

function expectRefusal(
  { status, body, headers }: Answer,
  err: string,
  description: RegExp = /./,
): void {
  expect({ status, body }).toEqual({
    status: 400,
    body: { err, description: expect.stringMatching(description) },
  });
  expect([headers.get('content-type'), headers.get('content-language')]).toEqual([
    'application/json',
    'en',
  ]);
}

describe('security events', () => {
  const settings = [
    ['risc/event-type/account-disabled', 'on_account_disabled', false],
    [purged, 'on_account_purged', false],
    ['risc/event-type/account-credential-change-required', 'on_credential_change', true],
    ['risc/event-type/credential-compromise', 'on_credential_change', false],
    ['risc/event-type/identifier-changed', 'on_credential_change', true],
    ['risc/event-type/sessions-revoked', 'on_sessions_revoked', false],
    [revoked, 'on_sessions_revoked', false],
    ['caep/event-type/credential-change', 'on_credential_change', true],
    ['oauth/event-type/token-revoked', 'on_tokens_revoked', false],
    ['oauth/event-type/tokens-revoked', 'on_tokens_revoked', false],
    ['oauth/event-type/user-unlinked', 'on_unlinked', false],
  ] as const;

  test.each(settings)('202 for %s: what %s says', async (name, setting, staysByDefault) => {
    for (const [notifications, stays] of [
      [{}, staysByDefault],
      [{ [setting]: staysByDefault ? 'end_sessions' : 'nothing' }, !staysByDefault],
    ] as const) {
      const { logIn, tell } = await newPerson(notifications);
      const phone = await logIn();
      const { status, text } = await tell(name);
      expect([status, text, await isIn(phone)]).toEqual([202, '', stays]);
      expect((await logIn()).loginUserId).toBe(phone.loginUserId);
    }
  });

  test.each([
    [purged, 'on_account_purged'],
    ['oauth/event-type/user-unlinked', 'on_unlinked'],
  ])('202 for %s with delete: the person is deleted', async (name, setting) => {
    const { logIn, tell } = await newPerson({ [setting]: 'delete' });
    const phone = await logIn();
    expect((await tell(name)).status).toBe(202);
    expect((await logIn()).loginUserId).not.toBe(phone.loginUserId);
  });

  test.each([
    ['risc/event-type/verification', 'provider_event_ignored', { kind: 'verification' }],
    ['sse/event-type/verification', 'provider_event_ignored', { kind: 'verification' }],
    ['ssf/event-type/verification', 'provider_event_ignored', { kind: 'verification' }],
    ['ssf/event-type/stream-updated', 'provider_stream_updated', { status: 'paused' }],
    ['ssf/event-type/something-new', 'provider_event_ignored', { kind: 'other' }],
    ['https://example.com/account-purged', 'provider_event_ignored', { kind: 'other' }],
    [
      'risc/event-type/account-enabled',
      'provider_notified',
      { kind: 'account_enabled', outcome: 'nothing' },
    ],
  ])('202 for %s: a line in the log, and nothing changes', async (name, event, fields) => {
    const { logIn, tell, scene } = await newPerson({ on_account_purged: 'delete' });
    const phone = await logIn();
    const sub_id = name.endsWith('enabled') ? {} : { sub_id: undefined };
    const written = await writtenDuring(running, async () =>
      expect((await tell(name, sub_id, { status: 'paused' })).status).toBe(202),
    );
    const line = JSON.parse(
      written.split('\n').find((one) => one.includes(`"event":"${event}"`)) ?? '{}',
    );
    const issuer = event === 'provider_notified' ? {} : { issuer: scene.url };
    expect(line).toMatchObject({ ...fields, ...issuer });
    expect(await isIn(phone)).toBe(true);
  });

  test('access_denied without the setting notifications, and the keys are not asked for', async () => {
    const { tell, logOut, scene } = await newPerson(null);
    expectRefusal(await tell(purged), 'access_denied');
    expectError(await logOut(), { status: 400, error: 'invalid_request' });
    expect(scene.calls('jwks')).toBe(0);
  });

  test('settings: an action that is none, or delete where nobody left, is an error', async () => {
    for (const [name, action] of Object.entries({
      on_logout: 'delete',
      on_account_purged: 'forget',
    }))
      await expect(newPerson({ [name]: action })).rejects.toThrow(`notifications.${name}: must be`);
  });
});

/** Somebody of whom no message that is refused must change anything. */
const bystander = await newPerson({ on_account_purged: 'delete' });
const phone = await bystander.logIn();

describe('the subject', () => {
  type Subject = (person: Made) => [Claims, object?];
  const inEvent = (subject: object, claims: Claims = {}): [Claims, object] => [
    { sub_id: undefined, ...claims },
    { subject },
  ];
  const complex = (more: object = {}): [Claims] => [{ sub_id: { format: 'complex', ...more } }];
  const opaque = { format: 'opaque', id: 'x' };
  const drafts = ({ issSub }: Made) => issSub({ format: undefined, subject_type: 'iss-sub' });

  test.each<[string, Subject]>([
    ['in sub_id', () => [{}]],
    ['in the event, as Google names it', (person) => inEvent(drafts(person))],
    [
      'also at the top, as Kakao names it',
      (person) => inEvent(drafts(person), { sub: person.subject }),
    ],
    ['the user of a complex one', ({ issSub }) => complex({ user: issSub(), tenant: opaque })],
    ['the user of a complex one in the event', ({ issSub }) => inEvent({ user: issSub() })],
    [
      'with a session that we do not know',
      ({ issSub }) => complex({ user: issSub(), session: opaque }),
    ],
  ])('202 %s', async (_, subjectOf) => {
    const person = await newPerson();
    const phone = await person.logIn();
    expect((await person.tell(revoked, ...subjectOf(person))).status).toBe(202);
    expect(await isIn(phone)).toBe(false);
  });

  const other = { iss: 'https://accounts.example' };
  const email = { format: 'email', email: 'alice@example.com' };
  test.each<[string, RegExp, Subject]>([
    ['of another issuer', /issuer of the subject/, ({ issSub }) => [{ sub_id: issSub(other) }]],
    [
      'of another issuer, in the event',
      /issuer of the subject/,
      ({ issSub }) => inEvent(issSub(other)),
    ],
    [
      'of another issuer, complex',
      /issuer of the subject/,
      ({ issSub }) => complex({ user: issSub(other) }),
    ],
    ['that is an address', /format iss_sub/, () => [{ sub_id: email }]],
    ['that is an address, in a complex one', /format iss_sub/, () => complex({ user: email })],
    ['that is missing', /no subject/, () => [{ sub_id: undefined }]],
    ['that is a number', /no usable sub/, ({ issSub }) => [{ sub_id: issSub({ sub: 7 }) }]],
    ['that is a text', /malformed/, () => [{ sub_id: 'alice' }]],
    ['of nobody', /needs a user/, () => complex()],
    ['that is another one than sub', /different/, () => [{ sub: 'bob' }]],
    [
      'that the event contradicts',
      /different/,
      ({ issSub }) => [{}, { subject: issSub({ sub: 'b' }) }],
    ],
  ])('400 for one %s: nothing changes', async (_, naming, subjectOf) => {
    expectRefusal(await bystander.tell(purged, ...subjectOf(bystander)), 'invalid_request', naming);
    expect(await isIn(phone)).toBe(true);
  });

  test('400 for a person of issuer B in a token of issuer A, also with delete: B’s person is untouched', async () => {
    const { app, scene, tell } = await newPerson();
    const other = standIn.openScene();
    const issuers = issuersAt([scene, other], { on_account_purged: 'delete' });
    await service.setProvider(app, 'provider_f', { issuers });
    const sub = unique('victim');
    const login = await service.byIdToken(await other.idToken({ sub }), app);
    const sub_id = { format: 'iss_sub', iss: other.url, sub };
    expectRefusal(await tell(purged, { sub_id }), 'invalid_request', /issuer of the subject/);
    expect(await isIn({ account: accountOf(service, login.body.access_token) })).toBe(true);
  });
});

describe('kinds do not mix', () => {
  type Row = [what: string, Claims, header?: object, err?: string];
  const ofBoth: Row[] = [
    ['a nonce', { nonce: 'n' }],
    ['an exp that is over', { exp: 1 }],
    ['no jti', { jti: undefined }],
    ['an empty jti', { jti: '' }],
    ['no events', { events: undefined }],
    ['another issuer', { iss: 'https://accounts.example' }, {}, 'invalid_issuer'],
    ['another audience', { aud: ['another-app', 'others'] }, {}, 'invalid_audience'],
  ];
  test.each<Row>([
    ...ofBoth,
    ['an at_hash', { at_hash: 'h' }],
    ['a c_hash', { c_hash: 'h' }],
    ['a jti that is a number', { jti: 7 as unknown as string }],
    ['no iat', { iat: 'x' as unknown as number }],
    ['events that are none', { events: {} }],
    ['events in a list', { events: [{}] }],
    ['an event that is no object', { events: { [`${uris}${purged}`]: 'yes' } }],
    ['the event of a logout token', { events: { [logoutEvent]: {} } }],
    ['the events of both', { events: { [logoutEvent]: {}, [`${uris}${purged}`]: {} } }],
    ['the typ of an access token', {}, { typ: 'at+jwt' }],
    ['the typ of a logout token', {}, { typ: 'logout+jwt' }],
    ['an unknown key', {}, { kid: 'unknown' }, 'invalid_key'],
  ])(
    'a security event token with %s: 400',
    async (_, claims, header = {}, err = 'invalid_request') => {
      expectRefusal(await bystander.tell(purged, claims, {}, header), err);
      expect(await isIn(phone)).toBe(true);
    },
  );

  test.each<[string, Claims, object]>([
    ['no typ', {}, { typ: undefined }],
    ['the typ JWT', {}, { typ: 'JWT' }],
    ['its typ in full', {}, { typ: 'application/SecEvent+jwt' }],
    ['an exp to come', { exp: now() + 3600 }, {}],
    ['several audiences, one of them ours', { aud: ['another-app', ourApp] }, {}],
  ])('a security event token with %s: 202', async (_, claims, header) => {
    const { logIn, tell } = await newPerson();
    const phone = await logIn();
    expect((await tell(purged, claims, {}, header)).status).toBe(202);
    expect(await isIn(phone)).toBe(false);
  });

  test.each<Row>([
    ...ofBoth,
    ['another signature', {}],
    ['no exp, issued more than five minutes ago', { exp: undefined, iat: now() - 370 }],
    ['no exp and no usable iat', { exp: undefined, iat: 'x' as unknown as number }],
    ['neither sub nor sid', { sub: undefined }],
    ['a sub that is none', { sub: '' }],
    ['a sid that is none', { sid: 7 }],
    ['the events of a security event token', { events: { [`${uris}${revoked}`]: {} } }],
    ['an event that is no object', { events: { [logoutEvent]: true } }],
    ['the typ of a security event token', {}, { typ: 'secevent+jwt' }],
  ])('a logout token with %s: 400', async (what, claims, header = {}) => {
    const token = await bystander.logoutTokenOf(claims, header);
    const logout_token = what.includes('signature') ? `${token.slice(0, -9)}AAAAAAAAA` : token;
    expectError(await bystander.sendForm({ logout_token }), {
      status: 400,
      error: 'invalid_request',
    });
    expect(await isIn(phone)).toBe(true);
  });

  const asText = (seconds: number) => String(seconds) as unknown as number;
  test.each<[string, () => Claims, header?: object]>([
    ['no exp, as Ory Hydra and LemonLDAP send it', () => ({ exp: undefined })],
    ['no typ', () => ({}), { typ: undefined }],
    ['an event that is an empty list', () => ({ events: { [logoutEvent]: [] } })],
    ['a sub and a sid', () => ({ sid: 'a-session-of-nobody' })],
    ['an iat with a fraction', () => ({ iat: now() + 0.25, exp: now() + 120.5 })],
    ['times as text', () => ({ iat: asText(now()), exp: asText(now() + 120) })],
    ['an audience in a list', () => ({ aud: [ourApp] })],
  ])('a logout token with %s: 200, and the sessions end', async (_, claims, header = {}) => {
    const { logIn, logOut } = await newPerson();
    const phone = await logIn();
    expect((await logOut(claims(), header)).status).toBe(200);
    expect(await isIn(phone)).toBe(false);
  });

  test('a logout token without exp counts for five minutes', async () => {
    const { logOut } = await newPerson();
    expect((await logOut({ exp: undefined, iat: now() - 240 })).status).toBe(200);
  });

  test('a logout token without exp counts once', async () => {
    const { logIn, logoutTokenOf, sendForm } = await newPerson();
    const logout_token = await logoutTokenOf({ exp: undefined, iat: now() + 30 });
    const phone = await logIn();
    expect((await sendForm({ logout_token })).status).toBe(200);
    const again = await logIn();
    expect((await sendForm({ logout_token })).status).toBe(200);
    expect([await isIn(phone), await isIn(again)]).toEqual([false, true]);
  });

  test('white space around a message, and a charset, do no harm', async () => {
    const { logIn, setOf, logoutTokenOf, sendForm, notification, post, address } =
      await newPerson();
    const sendSet = async () => {
      const headers = { 'content-type': 'application/secevent+jwt; charset=utf-8' };
      const body = `${await setOf(revoked)}\r\n`;
      return service.call(address(), { method: 'POST', headers, body });
    };
    const sendLogout = async () => sendForm({ logout_token: ` ${await logoutTokenOf()}\n` });
    const sendToApple = async () =>
      post(`${await notification('consent-revoked', { iat: now() })}\n`);
    for (const [status, send] of [
      [202, sendSet],
      [200, sendLogout],
      [204, sendToApple],
    ] as const) {
      const phone = await logIn();
      expect((await send()).status).toBe(status);
      expect(await isIn(phone)).toBe(false);
    }
  });

  test('a security event that is an empty list: 202', async () => {
    const { logIn, tell } = await newPerson();
    const phone = await logIn();
    expect((await tell(purged, {}, [])).status).toBe(202);
    expect(await isIn(phone)).toBe(false);
  });

  test('an id token is neither, and neither is an id token', async () => {
    const { app, scene, subject, push, sendForm, setOf, logoutTokenOf } = await newPerson();
    const id_token = await scene.idToken({ sub: subject, iat: now(), jti: unique('jti') });
    expectRefusal(await push(id_token), 'invalid_request');
    expectError(await sendForm({ logout_token: id_token }), {
      status: 400,
      error: 'invalid_request',
    });
    for (const token of [
      await setOf(purged, { sub: subject, exp: now() + 60 }, {}, { typ: undefined }),
      await logoutTokenOf({}, { typ: undefined }),
    ]) {
      expectError(await service.byIdToken(token, app), { status: 400, error: 'invalid_grant' });
    }
  });

  const form = 'application/x-www-form-urlencoded';
  test.each<[string, string, RegExp]>([
    ['application/secevent+jwt', '', /body is missing/],
    [form, 'x=1', /logout_token or signed_request/],
    [form, 'logout_token=a&logout_token=b', /logout_token is repeated/],
    [form, 'logout_token=a&signed_request=b', /logout_token or signed_request/],
    ['text/plain', 'x', new RegExp(`application/json or application/secevent\\+jwt or ${form}`)],
  ])('400 for %s with %j', async (type, body, naming) => {
    const headers = { 'content-type': type };
    const answer = await service.call(bystander.address(), { method: 'POST', headers, body });
    if (type.includes('secevent')) expectRefusal(answer, 'invalid_request', naming);
    else expectError(answer, { status: 400, error: 'invalid_request', naming });
  });

  test('the audiences of the setting take the place of the login’s', async () => {
    const { logIn, tell, logOut } = await newPerson({ audiences: ['https://receiver.example'] });
    const phone = await logIn();
    expectRefusal(await tell(purged), 'invalid_audience');
    expectError(await logOut(), { status: 400, error: 'invalid_request' });
    expect((await tell(purged, { aud: 'https://receiver.example' })).status).toBe(202);
    expect(await isIn(phone)).toBe(false);
  });
});

describe('time', () => {
  test('seven days old at most', async () => {
    const { tell } = await newPerson();
    expect((await tell(purged, { iat: now() - 7 * day })).status).toBe(202);
    expectRefusal(await tell(purged, { iat: now() - 7 * day - 120 }), 'invalid_request');
    expectRefusal(await tell(purged, { iat: now() + 120 }), 'invalid_request');
  });

  test('202 for a repeated one: once, also if it names a time to come', async () => {
    const { logIn, setOf, push, logoutTokenOf, sendForm } = await newPerson();
    const iat = now() + 40;
    const set = await setOf(revoked, { iat });
    const logout_token = await logoutTokenOf({ iat, exp: iat + 60 });
    for (const [status, send] of [
      [202, () => push(set)],
      [200, () => sendForm({ logout_token })],
    ] as const) {
      const phone = await logIn();
      expect((await send()).status).toBe(status);
      expect(await isIn(phone)).toBe(false);
      const again = await logIn();
      expect((await send()).status).toBe(status);
      expect(await isIn(again)).toBe(true);
    }
  });

  test('one that failed is not a repeated one', async () => {
    const { logIn, setOf, push } = await newPerson();
    const phone = await logIn();
    const set = await setOf(revoked);
    const failUpdates = ({ operation }: StoreCall) =>
      operation === 'UpdateItem' ? 'fails before' : undefined;
    expect((await proxy.during(failUpdates, () => push(set))).status).toBe(500);
    expect((await push(set)).status).toBe(202);
    expect(await isIn(phone)).toBe(false);
  });

  test('500 while the keys cannot be fetched: it is sent again', async () => {
    const { tell, logOut, scene, setOf, push } = await newPerson();
    scene.answer('jwks', { status: 503 });
    const set = await setOf(revoked);
    expect([(await push(set)).status, (await logOut()).status]).toEqual([500, 500]);
    scene.behave();
    running.advance(61);
    expect((await push(set)).status).toBe(202);
    expect((await tell(revoked)).status).toBe(202);
  });

  test('no call before the issuer is one of the settings', async () => {
    const { tell, logOut, scene } = await newPerson();
    const elsewhere = standIn.openScene();
    const { url } = elsewhere;
    const paths = ['jwks', '.well-known/openid-configuration'];
    const calls = () => [elsewhere, scene].flatMap((one) => paths.map(one.calls));
    const before = calls();
    const sub_id = { format: 'iss_sub', iss: url, sub: 'x' };
    expectRefusal(await tell(purged, { iss: url, sub_id }), 'invalid_issuer');
    expect((await logOut({ iss: url })).status).toBe(400);
    expect(calls()).toEqual(before);
  });

  test('3 s at most, with 20 linked identities whose tokens nobody revokes', async () => {
    const { app, logIn, tell, scene } = await newPerson();
    scene.misbehave('revoke', () => undefined);
    // The code is the subject.
    scene.answer('token', async ({ code: sub }) => ({
      body: { id_token: await scene.idToken({ sub }), refresh_token: unique('rt') },
    }));
    const code_exchange = codeExchangeAt(scene);
    const [issuer] = issuersAt([scene], { on_account_purged: 'delete' });
    await service.setProvider(app, 'provider_f', { issuers: [{ ...issuer, code_exchange }] });
    const phone = await logIn();
    for (let number = 0; number < 20; number += 1) {
      const sub = unique('also');
      const id_token = await scene.idToken({ sub });
      const form = { provider: 'provider_f', id_token, authorization_code: sub };
      const { status, body } = await phone.account.link(form);
      expect([status, body.provider_revocation]).toEqual([201, undefined]);
    }
    const elapsed = async (tell: Promise<Answer>): Promise<number> => {
      const startedAt = performance.now();
      expect((await tell).status).toBe(202);
      return performance.now() - startedAt;
    };
    // On a busy machine, a message that changes nothing takes its time, too.
    const usual = await elapsed(tell('https://example.com/unknown'));
    expect((await elapsed(tell(purged))) - 3 * usual).toBeLessThan(3_000);
    expect(await isIn(phone)).toBe(false);
  });
});

describe('people', () => {
  test('the thief’s phone gets no more messages, also when its session is no longer stored', async () => {
    const { logIn, tell, app } = await newPerson();
    const { loginUserId, token } = await logIn();
    const flags = { 'login-app': app.login_app_id, platform: 'android' };
    await service.operate('mobile-applications', 'set', flags);
    const id = await newPhone(service, await service.loginAppToken(app));
    expect((await service.relate(id, token)).status).toBe(200);
    await removeItem(
      { dynamoDb, tableName },
      sessionKey(loginUserId, String(decodeJwt(token).sid)),
    );
    const devices = async () =>
      (await service.operate('devices', 'list', { 'login-user': loginUserId })).devices;
    expect(await devices()).toMatchObject([{ device_id: id }]);
    expect(
      (await tell('risc/event-type/account-disabled', {}, { reason: 'hijacking' })).status,
    ).toBe(202);
    expect(await devices()).toEqual([]);
  });

  test('202 for somebody unknown', async () => {
    const { tell, logOut } = await newPerson({ on_account_purged: 'delete' });
    expect((await tell(purged)).status).toBe(202);
    const sub_id = { format: 'oauth_token', token: 'x' };
    expect((await tell('oauth/event-type/token-revoked', { sub_id })).status).toBe(202);
    expect((await logOut()).status).toBe(200);
    expect((await logOut({ sub: undefined, sid: 'unknown' })).status).toBe(200);
  });

  test('a blocked person is never deleted, and stays blocked', async () => {
    const { logIn, tell, app, scene, subject } = await newPerson({ on_account_purged: 'delete' });
    const { loginUserId } = await logIn();
    await service.operate('login-users', 'block', { 'login-user': loginUserId });
    for (const name of [purged, 'risc/event-type/account-enabled']) {
      expect((await tell(name)).status).toBe(202);
      const login = await service.byIdToken(await scene.idToken({ sub: subject }), app);
      expectError(login, {
        status: 400,
        error: 'invalid_grant',
        naming: 'The Login User is blocked.',
      });
    }
  });
});

test('Google writes its issuer with a slash, in token and subject: it is the same issuer', async () => {
  const { app, scene, subject, logIn, tell } = await newPerson();
  const [iss, slash] = ['https://accounts.google.com', 'https://accounts.google.com/'];
  const google = {
    issuer: iss,
    jwks_uri: `${scene.url}/jwks`,
    audiences: [ourApp],
    notifications: {},
  };
  await service.setProvider(app, 'provider_f', { issuers: [google] });
  const phone = await logIn(subject, { iss });
  const sub_id = { format: 'iss_sub', iss: slash, sub: subject };
  expect((await tell(purged, { iss: slash, sub_id })).status).toBe(202);
  expect(await isIn(phone)).toBe(false);
});
