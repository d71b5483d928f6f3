import { expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import { itemsAbout } from '../support/items-about.ts';
import { isIn } from '../support/people.ts';
import { type Claims, startProviderStandIn } from '../support/provider-stand-in.ts';
import { issuersAt, newToldPerson, type ToldPerson } from '../support/security-events.ts';
import { type Answer, unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { isWrite, listsLag, type StoreCall } from '../support/store-proxy.ts';

const { running, service, proxy, dynamoDb, tableName } = await sharedServiceWithStore();
const standIn = await startProviderStandIn();
const { now } = running;
const newPerson = (notifications: object | null = {}): Promise<ToldPerson> =>
  newToldPerson(service, standIn, now, notifications);

const sessionRevoked = 'caep/event-type/session-revoked';
const aboutSession = (more: object = {}) => ({
  sub_id: { format: 'complex', session: { format: 'opaque', id: 'phone' }, ...more },
});
test.each<[string, (person: ToldPerson) => Promise<Answer>]>([
  ['a logout token', ({ logOut }) => logOut({ sid: 'phone' })],
  ['a logout token without a sub', ({ logOut }) => logOut({ sub: undefined, sid: 'phone' })],
  [
    'an event about a session',
    ({ tell, issSub }) => tell(sessionRevoked, aboutSession({ user: issSub() })),
  ],
  ['an event about a session alone', ({ tell }) => tell(sessionRevoked, aboutSession())],
])('%s ends the session with this sid alone', async (_, send) => {
  const person = await newPerson();
  const { logIn, subject } = person;
  const [phone, tablet] = [
    await logIn(subject, { sid: 'phone' }),
    await logIn(subject, { sid: 'tablet' }),
  ];
  const bystander = await logIn(unique('bob'), { sid: 'tablet' });
  expect((await send(person)).status).toBeLessThan(203);
  expect([await isIn(phone), await isIn(tablet), await isIn(bystander)]).toEqual([
    false,
    true,
    true,
  ]);
});

test('a logout token whose session cannot be ended now: 500, and sent again it ends it', async () => {
  const { logIn, logoutTokenOf, sendForm, subject } = await newPerson();
  const phone = await logIn(subject, { sid: 'phone' });
  const logout_token = await logoutTokenOf({ sid: 'phone' });
  const send = () => sendForm({ logout_token });
  const endsSession = (call: StoreCall): boolean =>
    isWrite(call) && JSON.stringify(call.body).includes('"ended_at"');
  const failed = await proxy.during(
    (call) => (endsSession(call) ? 'fails before' : undefined),
    send,
  );
  expect([failed.status, await isIn(phone)]).toEqual([500, true]);
  expect([(await send()).status, await isIn(phone)]).toEqual([200, false]);
});

test.each<[string, Claims]>([
  ['no sid', {}],
  ['a sid that we do not know', { sid: 'unknown' }],
])('a logout token with %s ends all of the person', async (_, claims) => {
  const { logIn, logOut, subject } = await newPerson();
  const [phone, tablet] = [await logIn(subject, { sid: 'phone' }), await logIn()];
  const { status, body } = await logOut(claims);
  expect([status, body]).toEqual([200, {}]);
  expect([await isIn(phone), await isIn(tablet)]).toEqual([false, false]);
});

test.each([
  ['a logout token', 'logout+jwt'],
  ['a logout token whose typ is in full', 'application/logout+jwt'],
])(
  '%s that comes before the index shows the session ends it when it is sent again',
  async (_, typ) => {
    const { logIn, logoutTokenOf, sendForm, subject } = await newPerson();
    const phone = await logIn(subject, { sid: 'phone' });
    const logout_token = await logoutTokenOf({ sub: undefined, sid: 'phone' }, { typ });
    const send = () => sendForm({ logout_token });
    expect((await proxy.during(listsLag, send)).status).toBe(200);
    expect(await isIn(phone)).toBe(true);
    expect((await send()).status).toBe(200);
    expect(await isIn(phone)).toBe(false);
  },
);

test('another issuer of the same Login App ends none with the same sid', async () => {
  const { app, scene, logIn, logoutTokenOf, sendForm, subject } = await newPerson();
  const other = standIn.openScene();
  await service.setProvider(app, 'provider_f', { issuers: issuersAt([scene, other]) });
  const phone = await logIn(subject, { sid: 'phone' });
  const claims = decodeJwt(await logoutTokenOf({ sub: undefined, sid: 'phone' }));
  const logout_token = await other.idToken({ ...claims, sub: undefined, iss: other.url });
  expect((await sendForm({ logout_token })).status).toBe(200);
  expect(await isIn(phone)).toBe(true);
});

test('the same issuer ends none in another Login App', async () => {
  const { app, scene, logIn, logoutTokenOf, subject } = await newPerson();
  const other = await newPerson();
  await service.setProvider(other.app, 'provider_f', { issuers: issuersAt([scene]) });
  const phone = await logIn(subject, { sid: 'phone' });
  for (const sub of [undefined, subject]) {
    const logout_token = await logoutTokenOf({ sub, sid: 'phone' });
    expect((await other.sendForm({ logout_token })).status).toBe(200);
  }
  expect([await isIn(phone), app === other.app]).toEqual([true, false]);
});

test.each<[string, object, Claims]>([
  ['from before it began', {}, { iat: now() - 60 }],
  ['where on_logout is nothing', { on_logout: 'nothing' }, {}],
])('a session survives a logout %s', async (_, notifications, claims) => {
  const { logIn, logOut, subject } = await newPerson(notifications);
  const phone = await logIn(subject, { sid: 'phone' });
  expect((await logOut({ sid: 'phone', ...claims })).status).toBe(200);
  expect(await isIn(phone)).toBe(true);
});

test('a session keeps the sid hashed, and none where the provider tells nothing', async () => {
  const sid = unique('sid');
  const [on, off] = [await newPerson(), await newPerson(null)];
  const keptOf = async ({ logIn, subject }: typeof on) => {
    const { loginUserId } = await logIn(subject, { sid });
    const items = await itemsAbout({ dynamoDb, tableName }, loginUserId);
    return items.flatMap(({ provider_session }) => provider_session ?? []);
  };
  expect(await keptOf(on)).toEqual([expect.stringMatching(/^[\w-]{43}$/)]);
  expect(await keptOf(off)).toEqual([]);
  expect(await itemsAbout({ dynamoDb, tableName }, sid)).toEqual([]);
});
