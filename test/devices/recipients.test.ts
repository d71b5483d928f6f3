import { beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { shardOf } from '../../lib/devices/device.ts';
import { deviceIdOf } from '../../lib/devices/register-device.ts';
import { devicesOfLoginAppShard } from '../../lib/storage/keys.ts';
import { expectAnswer, expectError } from '../support/expectations.ts';
import { createClient, createLoginApp, type LoginApp } from '../support/login-app.ts';
import { eventually, eventuallyHas, newPerson, newPhone } from '../support/people.ts';
import { asClient, sharedService, unique } from '../support/service.ts';
import { hexToken } from '../support/tokens.ts';

const service = sharedService();
const { call, demo, operate } = service;

interface Recipient {
  device_id: string;
  platform: string;
  token_type: string;
  login_user_id?: string;
}

const list = (query: string, app: LoginApp = demo.login_app) =>
  service.recipients(query.slice(1), app);
const disable = (id: string, app: LoginApp = demo.login_app) =>
  call(`/v2/marketing/push_notifications/devices/${id}`, {
    method: 'DELETE',
    headers: asClient(app),
  });
const idsOf = (recipients: Recipient[]) => recipients.map(({ device_id }) => device_id).toSorted();
const forPerson = async (id: string, app?: LoginApp): Promise<Recipient[]> =>
  (await list(`?login_user_id=${id}`, app)).body.recipients;

async function pagesOf(shard: number, query: string, app: LoginApp): Promise<Recipient[][]> {
  const pages: Recipient[][] = [];
  let cursor = '';
  do {
    const { status, body } = await list(
      `?shard=${shard}${query}${cursor && `&cursor=${cursor}`}`,
      app,
    );
    expect(status).toBe(200);
    pages.push(body.recipients);
    cursor = body.next_cursor ?? '';
  } while (cursor);
  return pages;
}
const everyone = async (app: LoginApp, query = ''): Promise<Recipient[]> =>
  (await Promise.all([...Array(16).keys()].map((shard) => pagesOf(shard, query, app)))).flat(2);

/** Push tokens of android devices that are all in one shard of a Login App. */
function tokensInShard(shard: number, loginAppId: string, count: number): string[] {
  const list = devicesOfLoginAppShard(loginAppId, shard);
  const tokens: string[] = [];
  while (tokens.length < count) {
    const token = unique('push-token');
    if (shardOf(loginAppId, deviceIdOf(loginAppId, { platform: 'android', token })) === list)
      tokens.push(token);
  }
  return tokens;
}

const newApp = () => createLoginApp(service, unique('app'), { platforms: ['ios', 'android'] });

const appToken = await service.loginAppToken();

describe('GET recipients?login_user_id', () => {
  test('the active devices of a person, with what is known of each', async () => {
    const person = await newPerson(service);
    const [first, second, third] = [
      { platform: 'ios', token: hexToken() },
      { platform: 'ios', token: hexToken() },
      { platform: 'android', token: unique('push-token') },
    ] as const;
    const details = {
      app_version: '4.2.0',
      installation_id: unique('i'),
      environment: 'sandbox',
      locale: 'DE-at',
    };
    for (const registration of [{ ...first, ...details }, second, third]) {
      const { id } = (await service.register(registration, appToken)).body;
      await service.relate(id, person.token);
    }
    await eventuallyHas(3, () => forPerson(person.loginUserId));
    const known = {
      device_id: expect.stringMatching(/^d_/),
      last_seen_at: expect.stringMatching(/Z$/),
      login_user_id: person.loginUserId,
    };
    const apns = { ...known, token_type: 'apns', environment: 'production' };
    const shown = { environment: 'sandbox', locale: 'de-AT', app_version: '4.2.0' };
    expectAnswer(await list(`?login_user_id=${person.loginUserId}`), 200, {
      recipients: [
        { ...known, ...third, token_type: 'fcm' },
        { ...apns, ...second },
        { ...apns, ...first, ...shown },
      ],
    });
    const narrowed = await list(`?login_user_id=${person.loginUserId}&platform=android`);
    expect(narrowed.body.recipients).toHaveLength(1);
    await service.register(first, appToken);
    expect((await forPerson(person.loginUserId))[0]).toEqual({ ...apns, ...first });
  });

  test.each([
    ['ios', 'apns', hexToken().toUpperCase()],
    ['android', 'fcm', unique('push-token')],
  ])(
    '%s: a token of another type is the same device; by default it is %s',
    async (platform, usual, token) => {
      const person = await newPerson(service);
      const registered = (token_type?: string) =>
        service.register({ platform, token, token_type }, appToken);
      const typeOf = async () => {
        const [recipient] = await eventuallyHas(1, () => forPerson(person.loginUserId));
        const own = await service.listDevices(person.token);
        const { token_type } = await operate('devices', 'show', { device: recipient?.device_id });
        expect([own.body.devices[0].token_type, token_type]).toEqual([
          recipient?.token_type,
          token_type,
        ]);
        return { id: recipient?.device_id, token_type };
      };
      const { status, body } = await registered();
      expect(status).toBe(201);
      await service.relate(body.id, person.token);
      expect(await typeOf()).toEqual({ id: body.id, token_type: usual });
      for (const token_type of ['fid', 'fcm', usual, 'fid']) {
        expectAnswer(await registered(token_type), 200, body);
        expect(await typeOf()).toEqual({ id: body.id, token_type });
      }
      expectAnswer(await registered(), 200, body);
      expect(await typeOf()).toEqual({ id: body.id, token_type: usual });
    },
  );

  test('an ios device with a token of FCM has no environment, and its token keeps its case', async () => {
    const person = await newPerson(service);
    const device = { platform: 'ios', token_type: 'fcm', token: unique('fTq0:APA91') };
    const { id } = (await service.register(device, appToken)).body;
    await service.relate(id, person.token);
    const [found] = await eventuallyHas(1, () => forPerson(person.loginUserId));
    expect(found).toMatchObject(device);
    expect(found).not.toHaveProperty('environment');
    const flags = {
      'login-app': demo.login_app.login_app_id,
      platform: 'ios',
      token: device.token,
    };
    expect(await operate('devices', 'find', flags)).toMatchObject({
      device_id: id,
      token_type: 'fcm',
    });
    const exported = await operate('login-users', 'export', { 'login-user': person.loginUserId });
    expect(exported.devices).toMatchObject([{ device_id: id, token_type: 'fcm' }]);
  });
});

describe('GET recipients?shard', () => {
  test('all shards side by side: each active device once, whatever the page size', async () => {
    const app = await newApp();
    const token = await service.loginAppToken(app);
    const registered = await Promise.all(
      Array.from({ length: 60 }, (_, number) => {
        const platform = number % 3 === 0 ? 'ios' : 'android';
        const installation = number % 2 === 0 ? { installation_id: unique('installation') } : {};
        return service.register({ platform, token: hexToken(), ...installation }, token);
      }),
    );
    const ids = registered.map(({ body }) => String(body.id));
    const [dead = '', ...active] = ids;
    expect((await disable(dead, app)).status).toBe(204);
    await eventually(
      () => everyone(app),
      (all) => idsOf(all).join() === active.toSorted().join(),
    );
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 8 }),
      fc.constantFrom('', 'ios', 'android'),
      async (limit, platform) => {
        const found = await everyone(app, `&limit=${limit}${platform && `&platform=${platform}`}`);
        const wanted = active.filter((id) => {
          const isIos = ids.indexOf(id) % 3 === 0;
          return platform === '' || isIos === (platform === 'ios');
        });
        expect(idsOf(found)).toEqual(wanted.toSorted());
      },
    );
    await fc.assert(property, { numRuns: 6, seed: 1 });
  });

  test('a page has at most `limit` devices, and 100 unless told otherwise', async () => {
    const app = await newApp();
    const shard = 7;
    const lines = tokensInShard(shard, app.login_app_id, 130).map((token, place) => ({
      line: place + 1,
      text: JSON.stringify({ platform: 'android', token }),
      repetition: 0,
    }));
    const flags = { 'login-app': app.login_app_id, devices: lines };
    expect(await operate('devices', 'import', flags)).toMatchObject({ added: 130 });
    const lengthsOf = async (query: string) =>
      (await pagesOf(shard, query, app)).map(({ length }) => length);
    expect(
      await eventually(
        () => lengthsOf('&limit=1000'),
        ([length]) => length === 130,
      ),
    ).toEqual([130]);
    expect(await lengthsOf('')).toEqual([100, 30]);
    expect(await lengthsOf('&limit=60')).toEqual([60, 60, 10]);
  });
});

describe('a cursor', () => {
  /** A Login App with three devices in one shard, and the cursor after the first of them. */
  const shard = 3;
  let app: LoginApp;
  let cursor: string;
  beforeAll(async () => {
    app = await newApp();
    const token = await service.loginAppToken(app);
    for (const phone of tokensInShard(shard, app.login_app_id, 3))
      await service.register({ platform: 'android', token: phone }, token);
    await eventuallyHas(3, async () => (await pagesOf(shard, '', app)).flat());
    cursor = (await list(`?shard=${shard}&limit=1`, app)).body.next_cursor;
  });
  const invalid = { status: 400, error: 'invalid_request', naming: /cursor/ };

  test('continues the same query alone', async () => {
    const query = `?shard=${shard}&limit=1&cursor=`;
    expect((await list(`${query}${cursor}`, app)).body.recipients).toHaveLength(1);
    expect(cursor).toMatch(/^[\w.-]+$/);
    for (const text of [cursor.slice(1), cursor.slice(0, -8), 'x', '..', 'bnVsbA', '%00']) {
      expectError(await list(`${query}${text}`, app), invalid);
    }
    expectError(await list(`?shard=${(shard + 1) % 16}&cursor=${cursor}`, app), invalid);
    expectError(await list(`?shard=${shard}&platform=android&cursor=${cursor}`, app), invalid);
    expectError(await list(`?shard=${shard}&cursor=${cursor}`, await newApp()), invalid);
  });

  test('that is made up only moves the start within the shard', async () => {
    const inShard = idsOf((await pagesOf(shard, '', app)).flat());
    for (let at = 0; at < cursor.length; at += 1) {
      const altered = cursor.slice(0, at) + (cursor[at] === 'A' ? 'B' : 'A') + cursor.slice(at + 1);
      const { status, body } = await list(`?shard=${shard}&cursor=${altered}`, app);
      expect([200, 400]).toContain(status);
      if (status === 200) expect(inShard).toEqual(expect.arrayContaining(idsOf(body.recipients)));
    }
  });
});

describe('GET recipients, 400', () => {
  test.each([
    ['', /login_user_id or the parameter shard/],
    ['?platform=ios', /login_user_id or the parameter shard/],
    ['?login_user_id=lu_x&shard=1', /login_user_id or the parameter shard/],
    ['?login_user_id=lu_x&limit=1', /go with the parameter shard/],
    ['?login_user_id=lu_x&cursor=x', /go with the parameter shard/],
    ['?login_user_id=', /login_user_id is empty/],
    ['?login_user_id=a&login_user_id=b', /login_user_id is repeated/],
    ['?shard=16', /shard must be an integer from 0 to 15/],
    ['?shard=-1', /shard must be/],
    ['?shard=1.0', /shard must be/],
    ['?shard=', /shard must be/],
    ['?shard=0&shard=1', /shard is repeated/],
    ['?shard=0&limit=0', /limit must be an integer from 1 to 1000/],
    ['?shard=0&limit=1001', /limit must be/],
    ['?shard=0&cursor=', /cursor is empty/],
    ['?shard=0&platform=windows', /platform must be ios or android/],
    ['?shard=0&page=1', /^Unknown query parameter page\./],
  ])('%s', async (query, naming) => {
    expectError(await list(query), { status: 400, error: 'invalid_request', naming });
  });
});

describe('DELETE devices/{device_id}', () => {
  test('204, also the second time; the device is listed again when it has registered again', async () => {
    const person = await newPerson(service);
    const token = unique('push-token');
    const { id } = (await service.register({ platform: 'android', token }, appToken)).body;
    await service.relate(id, person.token);
    await eventuallyHas(1, () => forPerson(person.loginUserId));
    const shard = Number(shardOf(demo.login_app.login_app_id, id).slice(-2));
    for (let time = 0; time < 2; time += 1) {
      const answer = await disable(id);
      expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: '' });
      expect(await forPerson(person.loginUserId)).toEqual([]);
      expect(idsOf((await pagesOf(shard, '', demo.login_app)).flat())).not.toContain(id);
    }
    await service.register({ platform: 'android', token }, appToken);
    expect(idsOf(await forPerson(person.loginUserId))).toEqual([id]);
  });

  test("404 for a device that there is not, and for another Login App's, which stays as it is", async () => {
    const person = await newPerson(service);
    const id = await newPhone(service, appToken);
    await service.relate(id, person.token);
    const notFound = { status: 404, error: 'not_found', naming: /no such device/ };
    for (const unknown of [`d_${'A'.repeat(43)}`, 'x', 'd_', '%00', 'a'.repeat(3_000)]) {
      expectError(await disable(unknown), notFound);
    }
    expectError(await disable(id, demo.other_login_app), notFound);
    expect(idsOf(await eventuallyHas(1, () => forPerson(person.loginUserId)))).toEqual([id]);
  });
});

describe('who may ask', () => {
  const unknown = `d_${'A'.repeat(43)}`;
  const answersTo = async (app: LoginApp) => [
    await list('?shard=0', app),
    await disable(unknown, app),
  ];

  test.each(['none', 'refresh_token'])(
    'not a client that is limited to the grants %s: 403, unless the operator allows it',
    async (grants) => {
      const { login_app_id } = await newApp();
      const flags = { 'login-app': login_app_id, 'grant-types': grants };
      const isSender = async ({ client_id: client }: LoginApp) =>
        (await operate('clients', 'show', { client })).recipients;
      const app = await createClient(service, login_app_id, flags);
      const mayNot = { status: 403, error: 'forbidden', naming: /may not read recipients/ };
      for (const answer of await answersTo(app)) expectError(answer, mayNot);
      const sender = await createClient(service, login_app_id, { ...flags, recipients: true });
      expect((await answersTo(sender)).map(({ status }) => status)).toEqual([200, 404]);
      expect(await isSender(sender)).toBe(true);
      await operate('clients', 'update', { ...flags, client: sender.client_id });
      expect(await isSender(sender)).toBe(false);
      await operate('clients', 'update', { ...flags, client: app.client_id, recipients: true });
      expect(await isSender(app)).toBe(true);
    },
  );

  test('nobody while the Login App is disabled', async () => {
    const app = await newApp();
    await operate('login-apps', 'disable', { 'login-app': app.login_app_id });
    const disabled = { status: 400, error: 'unauthorized_client', naming: /Login App is disabled/ };
    for (const answer of await answersTo(app)) expectError(answer, disabled);
  });
});
