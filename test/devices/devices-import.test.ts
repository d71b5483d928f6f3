import { describe, expect, test } from '@jest/globals';
import type { details } from '../../lib/devices/device.ts';
import { deviceIdOf } from '../../lib/devices/register-device.ts';
import { deviceKey, installationKey } from '../../lib/storage/keys.ts';
import { expireItem, itemAt, setAttributes } from '../support/items-about.ts';
import { createLoginApp } from '../support/login-app.ts';
import { linesByReason, operatorWithFiles } from '../support/operator.ts';
import { eventually, eventuallyHas, newPerson } from '../support/people.ts';
import { unique } from '../support/service.ts';
import { sharedServiceWithStore } from '../support/store-and-service.ts';
import { failing, isWrite, type StoreCall } from '../support/store-proxy.ts';
import { hexToken } from '../support/tokens.ts';

const own = await sharedServiceWithStore();
const { service } = own;
const { run, fileOf, importFile } = operatorWithFiles(own.running);

const newApp = () =>
  createLoginApp(service, unique('app'), {
    platforms: ['ios', 'android'],
    providers: ['provider_f'],
  });
const app = await newApp();
const appToken = await service.loginAppToken(app);

const importLines = (lines: unknown[] | string, { login_app_id } = app) =>
  importFile('devices', fileOf(lines), '--login-app', login_app_id);
const exported = async ({ login_app_id } = app) => {
  const { code, stdout: text } = await run('devices', 'export', '--login-app', login_app_id);
  expect(code).toBe(0);
  const lines = text.split('\n').filter(Boolean);
  return { text, lines: lines.map((line): Record<string, unknown> => JSON.parse(line)) };
};
/** The lines of an export that has so many. */
const exportedWhen = (count: number, of = app) =>
  eventually(
    () => exported(of),
    ({ lines }) => lines.length === count,
  );
const recipients = async (query: string, client = app): Promise<{ device_id: string }[]> =>
  (await service.recipients(query, client)).body.recipients;
const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
const android = (more: object = {}) => ({
  platform: 'android',
  token: unique('push-token'),
  ...more,
});

describe('operator devices import FILE.ndjson', () => {
  test('--dry-run says what an import would do, and writes nothing', async () => {
    const installation_id = unique('installation');
    const known = android({ installation_id });
    await importLines([known]);
    const file = fileOf([
      known,
      android(),
      android({ installation_id }),
      android({ last_seen_at: daysAgo(300) }),
      android({ login_user_id: `lu_${'A'.repeat(43)}` }),
      'no JSON',
    ]);
    const writes: StoreCall[] = [];
    own.proxy.hook = (call) => {
      if (isWrite(call)) writes.push(call);
      return undefined;
    };
    const flags = ['--login-app', app.login_app_id];
    const dry = await importFile('devices', file, ...flags, '--dry-run');
    expect(writes).toEqual([]);
    const real = await importFile('devices', file, ...flags);
    expect(dry).toEqual(real);
    expect(dry).toMatchObject({
      code: 2,
      summary: { lines: 6, added: 1, already_there: 1, refused: 4 },
    });
    expect(writes).not.toEqual([]);
  });

  test('fields that mean nothing to it are named, with how many lines have them', async () => {
    const channels = [''];
    const lines = [
      android({ channels }),
      android({ channels, 'odd name': 1, objectId: 'x' }),
      android(),
    ];
    const { code, summary } = await importLines(lines);
    expect({ code, ignored: summary.ignored_fields }).toEqual({
      code: 0,
      ignored: [
        { field: 'channels', lines: 2 },
        { field: 'a field with an odd name', lines: 1 },
        { field: 'objectId', lines: 1 },
      ],
    });
    expect((await importLines([android()])).summary).not.toHaveProperty('ignored_fields');
  });

  test('details that cannot be used are left out, and counted', async () => {
    const { code, summary } = await importLines([
      android({ app_version: '4.2.0 (1234)', locale: 'zh_Hans_CN' }),
      android({ app_version: 'жук', locale: 'C', created_at: 'yesterday' }),
      android({ app_version: '', locale: null, installation_id: null, related_at: '' }),
      android({ locale: 'POSIX' }),
    ]);
    expect({ code, added: summary.added, left_out: summary.left_out_fields }).toEqual({
      code: 0,
      added: 4,
      left_out: [
        { field: 'app_version', lines: 1 },
        { field: 'locale', lines: 2 },
        { field: 'created_at', lines: 1 },
      ],
    });
    expect(summary).not.toHaveProperty('ignored_fields');
  });

  test('every detail that a registration may give is stored, sent, exported and imported', async () => {
    const [from, to] = [await newApp(), await newApp()];
    const values: Record<keyof typeof details, string> = {
      token_type: 'apns',
      environment: 'sandbox',
      locale: 'de-AT',
      app_version: '4.2.0',
      installation_id: unique('installation'),
    };
    const device = { platform: 'ios', token: hexToken(), ...values };
    const { id } = (await service.register(device, await service.loginAppToken(from))).body;
    const person = await newPerson(service, unique('carol'), from);
    await service.relate(id, person.token);
    expect(JSON.parse((await run('devices', 'show', '--device', id)).stdout)).toMatchObject(values);
    const { installation_id: _, ...sent } = values;
    const listed = await eventuallyHas(1, () =>
      recipients(`login_user_id=${person.loginUserId}`, from),
    );
    expect(listed).toMatchObject([sent]);
    const { lines } = await exportedWhen(1, from);
    expect(lines).toMatchObject([device]);
    await importLines([{ ...lines[0], login_user_id: undefined }], to);
    expect((await exportedWhen(1, to)).lines).toMatchObject([device]);
  });

  test('a line about an installation that the app has registered meanwhile leaves it to the newer device', async () => {
    const person = await newPerson(service, unique('bob'), app);
    const installation_id = unique('installation');
    const { id } = (await service.register(android({ installation_id }), appToken)).body;
    await service.relate(id, person.token);
    expect((await importLines([android({ installation_id })])).summary).toMatchObject({
      added: 0,
      reasons: [{ reason: 'The installation has another device.', lines: [1] }],
    });
    const query = `login_user_id=${person.loginUserId}`;
    const listed = await eventuallyHas(1, () => recipients(query));
    expect(listed).toMatchObject([{ device_id: id }]);
  });

  test('run again, it adds what is new, and changes nothing that the app has registered meanwhile', async () => {
    const lines = [
      android({ app_version: '1', last_seen_at: daysAgo(9) }),
      android({ app_version: '1' }),
    ];
    expect((await importLines(lines)).summary).toMatchObject({ added: 2, already_there: 0 });
    const [first, second] = lines;
    await service.register({ ...first, app_version: '2' }, appToken);
    const again = (await importLines([first, second, android(), second])).summary;
    expect(again).toMatchObject({ added: 1, already_there: 3 });
    const all = (await exported()).lines;
    const versions = all.filter(({ token }) => lines.some((line) => line.token === token));
    expect(versions.map(({ app_version }) => app_version).toSorted()).toEqual(['1', '2']);
  });

  test('adds a device that has expired, though the table has it still, unless the app registers it meanwhile', async () => {
    const line = android();
    const { id } = (await service.register(line, appToken)).body;
    const shown = () => service.operate('devices', 'show', { device: id });
    await expireItem(own, deviceKey(id));
    const { summary: first } = await importLines([{ ...line, app_version: '1' }]);
    expect([first, await shown()]).toMatchObject([{ added: 1 }, { app_version: '1' }]);

    await expireItem(own, deviceKey(id));
    let isRegistered = false;
    const { summary: second } = await own.proxy.during(
      async ({ operation }) => {
        if (operation !== 'TransactWriteItems' || isRegistered) return undefined;
        isRegistered = true;
        await service.register({ ...line, app_version: '2' }, appToken);
        return undefined;
      },
      () => importLines([line]),
    );
    expect([second, await shown()]).toMatchObject([{ already_there: 1 }, { app_version: '2' }]);
  });

  test('an import prolongs the installation of a device, even of one that is there already', async () => {
    const installation_id = unique('installation');
    const line = android({ installation_id });
    await importLines([line]);
    const key = installationKey(app.login_app_id, installation_id);
    await expireItem(own, key, 1_000);
    expect((await importLines([line])).summary).toMatchObject({ already_there: 1, refused: 0 });
    expect(Number((await itemAt(own, key))?.expires_at) * 1000).toBeGreaterThan(
      Date.parse(daysAgo(-300)),
    );
  });

  test('an installation that has expired counts for nothing, though the table has it still', async () => {
    const installation_id = unique('installation');
    await service.register(android({ installation_id }), appToken);
    await expireItem(own, installationKey(app.login_app_id, installation_id));
    const lines = [android({ installation_id }), android({ installation_id })];
    expect((await importLines(lines)).summary).toMatchObject({
      added: 1,
      reasons: [{ lines: [2] }],
    });
    expect((await importLines(lines)).summary).toMatchObject({
      already_there: 1,
      reasons: [{ lines: [2] }],
    });
  });

  test('two phones with one installation id are exported and imported as such, in any order', async () => {
    const [from, to] = [await newApp(), await newApp()];
    const installation_id = unique('installation');
    const phones = [android({ installation_id }), android({ installation_id })];
    const token = await service.loginAppToken(from);
    // The first one comes back after the second one has taken its place.
    for (const phone of [...phones, ...phones]) await service.register(phone, token);
    const shared = { installation_id, installation_shared: true };
    const { lines } = await exportedWhen(2, from);
    expect(lines).toMatchObject([shared, shared]);
    expect((await importLines(lines, to)).summary).toMatchObject({ added: 2, refused: 0 });
    expect((await exportedWhen(2, to)).lines).toMatchObject([shared, shared]);

    // A file of 1.0.0, or by hand, may say so in one of the lines alone.
    const [first, second = {}] = lines;
    const { installation_shared: _, ...unmarked } = second;
    for (const order of [
      [unmarked, first],
      [first, unmarked],
    ]) {
      const other = await newApp();
      expect((await importLines(order, other)).summary).toMatchObject({ added: 2, refused: 0 });
      const appToken = await service.loginAppToken(other);
      const answers = await Promise.all(phones.map((phone) => service.register(phone, appToken)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect((await exportedWhen(2, other)).lines).toMatchObject([shared, shared]);
    }
  });

  test('an import that is interrupted at any call adds a device with its installation, or neither', async () => {
    const faults = ['fails before', 'fails after', 'answer lost'] as const;
    for (const fault of faults)
      for (const place of [0, 1]) {
        const installation_id = unique('installation');
        const line = android({ installation_id });
        const counts = ({ body }: StoreCall) => JSON.stringify(body).includes('INSTALLATION#');
        await failing(own.proxy, [place, fault], () => importLines([line]), counts);
        const isDone = fault === 'answer lost' || (place === 1 && fault === 'fails after');
        const { summary } = await importLines([line]);
        expect(summary).toMatchObject(isDone ? { already_there: 1 } : { added: 1 });
        const other = android({ installation_id });
        expect((await importLines([other])).summary).toMatchObject({ added: 0, refused: 1 });
      }
  });

  test('says which lines were rejected and why, adds the others, and ends with exit code 2', async () => {
    const person = await newPerson(service);
    const installation_id = unique('installation');
    const { code, summary } = await importLines([
      '\ufeff',
      android(),
      '{"half',
      '[]',
      android({ platform: 'windows' }),
      { platform: 'ios', token: 'x' },
      android({ token_type: 'fcm', environment: 'sandbox' }),
      android({ locale: 7 }),
      android({ token: 'BLACKLISTED' }),
      android({ last_seen_at: 'yesterday' }),
      android({ last_seen_at: daysAgo(271) }),
      android({ last_seen_at: daysAgo(-1) }),
      android({ login_user_id: person.loginUserId }),
      android({ installation_id }),
      android({ installation_id }),
      { platform: 'android' },
      android({ token_type: 'apns' }),
      android({ platform: 'windows', last_seen_at: 'yesterday' }),
      android({ login_user_id: person.loginUserId, last_seen_at: daysAgo(271) }),
    ]);
    expect(code).toBe(2);
    expect(summary).toMatchObject({ lines: 18, added: 2, already_there: 0, refused: 16 });
    expect(linesByReason(summary)).toEqual({
      'The line is not JSON.': [3],
      'The line must be a JSON object.': [4],
      'platform must be ios or android.': [5],
      'token must be 64 to 400 hexadecimal digits for ios, unless token_type is fcm or fid.': [6],
      'environment must not be supplied for android.': [7],
      'locale must be a string.': [8],
      'token must come from the push service: this is a placeholder for a missing one.': [9],
      'last_seen_at must be an RFC 3339 time of a real calendar date, such as 2024-05-02T08:00:00Z.':
        [10],
      'The device was not seen for 270 days.': [11],
      'last_seen_at must not be in the future.': [12],
      'The Login App has no such Login User.': [13],
      'The installation has another device.': [15],
      'token is required.': [16],
      'token_type must be fcm or fid for android.': [17],
      'platform must be ios or android. last_seen_at must be an RFC 3339 time of a real calendar date, such as 2024-05-02T08:00:00Z.':
        [18],
      'The Login App has no such Login User. The device was not seen for 270 days.': [19],
    });
  });

  test('a platform without a mobile application, and a Login App that there is not', async () => {
    const without = await createLoginApp(service, unique('app'));
    expect((await importLines([android()], without)).summary).toMatchObject({
      added: 0,
      reasons: [
        { reason: 'The Login App has no mobile application for android.', count: 1, lines: [1] },
      ],
    });
    const unknown = { ...without, login_app_id: `la_${'A'.repeat(22)}` };
    const { code, stderr } = await importLines([android()], unknown);
    expect([code, stderr]).toEqual([1, expect.stringContaining('There is no such Login App.')]);
  });
});

describe('operator devices export', () => {
  test('prints every active device as a line that import accepts', async () => {
    const from = await newApp();
    const person = await newPerson(service, unique('alice'), from);
    const lines = [
      ...Array.from({ length: 120 }, () => android({ last_seen_at: daysAgo(1) })),
      android({ installation_id: unique('i'), login_user_id: person.loginUserId, locale: 'de-AT' }),
      { platform: 'ios', token: hexToken(), environment: 'sandbox', created_at: daysAgo(300) },
      { platform: 'ios', token_type: 'fid', token: unique('fid') },
    ];
    expect((await importLines(lines, from)).summary).toMatchObject({ added: 123 });
    const { text, lines: printed } = await exportedWhen(123, from);
    for (const line of lines) {
      expect(printed).toContainEqual(
        expect.objectContaining({ token_type: line.platform === 'ios' ? 'apns' : 'fcm', ...line }),
      );
    }
    const to = await newApp();
    const { summary } = await importLines(text.replaceAll(/,"login_user_id":"[^"]*"/g, ''), to);
    expect(summary).toMatchObject({ added: 123, refused: 0 });
    const again = await exportedWhen(123, to);
    const tokens = (all: Record<string, unknown>[]) => all.map(({ token }) => token).toSorted();
    expect(tokens(again.lines)).toEqual(tokens(printed));
  });

  test('an --after that is none of ours is an error', async () => {
    const { code, stderr } = await run(
      'devices',
      'export',
      '--login-app',
      app.login_app_id,
      '--after',
      'x',
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining('--after must be the next')]);
  });
});

test('devices find also finds a placeholder for a missing token, which 1.0.0 registered', async () => {
  const token = unique('push-token');
  const { id } = (await service.register({ platform: 'android', token }, appToken)).body;
  const { login_app_id } = app;
  const placeholderId = deviceIdOf(login_app_id, { platform: 'android', token: 'null' });
  const { pk, sk, ...stored } = { ...(await itemAt(own, deviceKey(id))) };
  const attributes = { ...stored, device_id: placeholderId, token: 'null' };
  await setAttributes(own, deviceKey(placeholderId), attributes);

  const flags = { 'login-app': login_app_id, platform: 'android', token: 'null' };
  const found = await service.operate('devices', 'find', flags);
  expect(found).toMatchObject({ device_id: placeholderId, platform: 'android' });
});
