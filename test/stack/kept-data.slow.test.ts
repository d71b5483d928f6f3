import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, expect, test } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader, type JWK } from 'jose';
import { serve } from '../../infra/local/loopback-server.ts';
import { problemsOfEvents } from '../support/check-events.ts';
import { localDynamoDb } from '../support/loaded-once.ts';
import { type Service, serviceOf, unique } from '../support/service.ts';
import { type RunningService, startService } from '../support/start-service.ts';

const folder = mkdtempSync(join(tmpdir(), 'login-service-data-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const startIn = async (data: string, PORT = '0', environment: Record<string, string> = {}) => {
  const running = await startService({
    LOCAL_DATA: data,
    PORT,
    DYNAMODB_ENDPOINT: '',
    ...environment,
  });
  return { running, service: serviceOf(running.demo, running.directory) };
};

const modeOf = (path: string): number => statSync(path).mode & 0o777;

const comment = { actor_type: 'custom', actor_id: 'risk-desk', comment: 'A page is missing.' };

/** Somebody logs in with a new phone. */
async function settle(service: Service) {
  const login = (await service.logIn('alice')).body;
  const device = await service.register(
    { platform: 'android', token: unique('push') },
    await service.loginAppToken(),
  );
  expect((await service.relate(device.body.id, login.access_token)).status).toBe(200);
  return { login, device_id: device.body.id };
}

test('what was there before a stop is there after the next start, and goes on working', async () => {
  const data = join(folder, 'stopped');
  // Somebody else may look into the folder that somebody has made.
  mkdirSync(data, { mode: 0o755 });
  const first = await startIn(data);
  expect(modeOf(join(data, 'table'))).toBe(0o700);
  const { login, device_id } = await settle(first.service);
  const added = await first.service.addEvent('comments', comment);
  expect(await first.running.interrupt()).toBe(0);
  await first.running.stop();

  const { running, service } = await startIn(data);
  expect(running.demo).toMatchObject({
    base_url: first.running.demo.base_url,
    account: first.running.demo.account,
  });
  expect((await service.listDevices(login.access_token)).body.devices).toMatchObject([
    { id: device_id },
  ]);
  const { refresh_token } = login;
  expect((await service.refresh(refresh_token)).status).toBe(200);
  expect((await service.search()).body.results).toContainEqual(added.body);
  const again = await service.logIn('alice');
  expect(again.status).toBe(200);
  expect(decodeJwt(again.body.access_token).sub).toBe(decodeJwt(login.access_token).sub);
  await running.stop();
});

test('kill -9 in the middle of writes loses nothing that was answered, twice in a row', async () => {
  const data = join(folder, 'killed');
  let { running, service } = await startIn(data);
  const { body: token } = await service.logIn('bob');
  const id = running.demo.access_request_id;
  const before = (await service.search('', { id })).body.total;
  const acknowledged: number[] = [];
  const devices: string[] = [];
  for (const round of [1, 2]) {
    await writeUntilKilled(running, service, { acknowledged, devices, until: round * 25 });
    await running.stop();
    ({ running, service } = await startIn(data));
    const dynamoDb = localDynamoDb(running.demo.dynamodb_endpoint);
    expect(await problemsOfEvents(dynamoDb, running.demo.table_name, id)).toEqual([]);
    const { body } = await service.search('?page_size=100', { id });
    expect(body.total).toBeGreaterThanOrEqual(before + acknowledged.length);
    const found = new Set(body.results.map((event: { id: number }) => event.id));
    expect(acknowledged.filter((event) => !found.has(event))).toEqual([]);
    for (const device of devices.slice(-5))
      expect([200, 201]).toContain((await service.relate(device, token.access_token)).status);
    devices.length = 0;
  }
  await running.stop();
});

/**
 * Four writers of each kind, until so many events were answered; then it is killed while the others
 * are under way.
 */
async function writeUntilKilled(
  running: RunningService,
  service: Service,
  { acknowledged, devices, until }: { acknowledged: number[]; devices: string[]; until: number },
) {
  const appToken = await service.loginAppToken();
  const keepOn = async (write: () => Promise<void>) => {
    while (acknowledged.length < until) await write().catch(() => undefined);
  };
  const addEvent = async () => {
    const { status, body } = await service.addEvent('comments', comment);
    if (status === 201) acknowledged.push(body.id);
  };
  const register = async () => {
    const { status, body } = await service.register(
      { platform: 'ios', token: unique('push') },
      appToken,
    );
    if (status === 201) devices.push(body.id);
  };
  const writers = Array.from({ length: 4 }, () => [keepOn(addEvent), keepOn(register)]).flat();
  await Promise.race(writers);
  await running.kill();
  await Promise.all(writers);
}

test('another TOKEN_ALGORITHM signs from the start, and the tokens of before stay valid', async () => {
  const data = join(folder, 'other-algorithm');
  const startWith = (TOKEN_ALGORITHM: string) => startIn(data, '0', { TOKEN_ALGORITHM });
  const signedWith = (token: string) => decodeProtectedHeader(token).alg;
  const idsOfKeys = async ({ call }: Service): Promise<string[]> =>
    (await call('/v2/marketing/oauth/jwks')).body.keys.map(({ kid }: JWK) => kid);
  const first = await startWith('RS256');
  const before = (await first.service.logIn('alice')).body.access_token;
  expect(signedWith(before)).toBe('RS256');
  // Only its owner may read the folder that the service has made, and its files.
  expect(modeOf(data)).toBe(0o700);
  for (const file of ['login-service.json', 'secrets.json'])
    expect(modeOf(join(data, file))).toBe(0o600);
  await first.running.stop();

  const changed = await startWith('ES256');
  const after = (await changed.service.logIn('alice')).body.access_token;
  expect(signedWith(after)).toBe('ES256');
  for (const token of [before, after])
    expect((await changed.service.listDevices(token)).status).toBe(200);
  const kids = await idsOfKeys(changed.service);
  await changed.running.stop();

  const unchanged = await startWith('ES256');
  expect(await idsOfKeys(unchanged.service)).toEqual(kids);
  for (const token of [before, after])
    expect((await unchanged.service.listDevices(token)).status).toBe(200);
  await unchanged.running.stop();
});

test("a folder with somebody's files is left alone", async () => {
  const data = join(folder, 'foreign');
  mkdirSync(data);
  writeFileSync(join(data, 'secrets.json'), 'mine');
  await expect(startIn(data)).rejects.toThrow(`LOCAL_DATA=${data} holds other files`);
});

test('a name that cannot be a folder is said to be none', async () => {
  const data = join(folder, 'a-file');
  writeFileSync(data, '');
  for (const name of [data, join(data, 'below'), '/proc/data'])
    await expect(startIn(name)).rejects.toThrow(
      `LOCAL_DATA=${name} is no folder and cannot be made one. Name another.\n`,
    );
});

test('nothing is written through a symbolic link', async () => {
  const data = join(folder, 'linked');
  await (await startIn(data)).running.stop();
  const elsewhere = join(folder, 'elsewhere');
  writeFileSync(elsewhere, 'mine');
  for (const name of ['secrets.json.new', 'table/LOG.old']) {
    const link = join(data, name);
    rmSync(link, { force: true });
    symlinkSync(elsewhere, link);
    await expect(startIn(data)).rejects.toThrow('or a symbolic link');
    rmSync(link);
  }
  expect(readFileSync(elsewhere, 'utf8')).toBe('mine');
});

test('a first start that failed leaves a folder to start in', async () => {
  const data = join(folder, 'failed');
  const other = await serve((_, response) => response.end());
  await expect(startIn(data, new URL(other.url).port)).rejects.toThrow('is taken');
  await other.close();
  await (await startIn(data)).running.stop();
});

test('damaged data are left alone: the line names the file or the table, and what to do', async () => {
  const kept = join(folder, 'kept');
  await (await startIn(kept)).running.stop();
  const left = 'Put back a copy of the folder, or name another one in LOCAL_DATA.';
  const files = [
    'login-service.json',
    'secrets.json',
    'sandbox-provider_f.json',
    'table/CURRENT',
    'table',
  ];
  for (const name of files) {
    const data = join(folder, `damaged-${name.replace('/', '-')}`);
    cpSync(kept, data, { recursive: true });
    if (name === 'table') rmSync(join(data, name), { recursive: true });
    else writeFileSync(join(data, name), '{"url": ');
    const isOfTable = name.startsWith('table');
    const part = isOfTable ? `table in ${join(data, 'table')}` : `file ${join(data, name)}`;
    await expect(startIn(data)).rejects.toThrow(
      new Error(`The service did not start: The ${part} is damaged. ${left}\n`),
    );
  }
});

test('a folder that another first start is filling is left alone; one that 1.0.0 has not filled is not', async () => {
  const data = join(folder, 'filling');
  mkdirSync(data);
  const file = join(data, 'login-service.json');
  writeFileSync(file, JSON.stringify({ pid: process.pid }));
  await expect(startIn(data)).rejects.toThrow(
    `LOCAL_DATA=${data} is in use by process ${process.pid}, which starts. Stop it first, or name another folder.\n`,
  );
  // No process has an id as large as this.
  writeFileSync(file, JSON.stringify({ pid: 2 ** 30 }));
  await (await startIn(data)).running.stop();
});

test('a table of a newer format is left alone: the line names both formats', async () => {
  const data = join(folder, 'newer-format');
  const { running } = await startIn(data);
  const { dynamodb_endpoint, table_name } = running.demo;
  const Item = {
    pk: { S: 'TABLE' },
    sk: { S: 'FORMAT' },
    format: { N: '2' },
    updated_at: { S: 'later' },
  };
  await localDynamoDb(dynamodb_endpoint).send(new PutItemCommand({ TableName: table_name, Item }));
  await running.stop();
  await expect(startIn(data)).rejects.toThrow(
    'The table has format 2, and this version reads format 1. Use the version that wrote it, or a newer one.\n',
  );
});

test('another port is refused: tokens name the one they were issued at', async () => {
  const data = join(folder, 'other-port');
  const { running } = await startIn(data);
  await running.stop();
  const { base_url } = running.demo;
  const advice = 'Set PORT and HOST as before, or name another folder.';
  await expect(startIn(data, '1')).rejects.toThrow(
    `The data in LOCAL_DATA belong to ${base_url}, which their tokens name as issuer. ${advice}\n`,
  );
  const file = join(data, 'login-service.json');
  writeFileSync(
    file,
    JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), url: 'http://127.0.0.1' }),
  );
  await expect(startIn(data, '1')).rejects.toThrow('belong to http://127.0.0.1,');
});

test('data in use, or whose port is taken, are refused: the line names the stack or the port', async () => {
  const data = join(folder, 'in-use');
  const { running } = await startIn(data);
  const { base_url, sandbox_url } = running.demo;
  const { pid } = JSON.parse(readFileSync(join(running.directory, 'stack.json'), 'utf8'));
  await expect(startIn(data)).rejects.toThrow(
    `LOCAL_DATA=${data} is in use by the stack at ${base_url} (process ${pid}). Stop it first, or name another folder.\n`,
  );
  await running.stop();
  for (const port of [base_url, sandbox_url].map((url) => Number(new URL(url).port))) {
    const other = await serve((_, response) => response.end(), port);
    const line = `Port ${port} is taken, and the data in LOCAL_DATA belong to it. Stop whatever listens there, or name another folder.\n`;
    await expect(startIn(data)).rejects.toThrow(line).finally(other.close);
  }
});

test.each([{ JOIN: '/nowhere' }, { DYNAMODB_ENDPOINT: 'http://127.0.0.1:1' }])(
  'it is refused together with %j',
  async (other) => {
    await expect(startService({ LOCAL_DATA: join(folder, 'both'), ...other })).rejects.toThrow(
      'LOCAL_DATA keeps the data of the embedded store. Leave out JOIN and DYNAMODB_ENDPOINT.',
    );
  },
);
