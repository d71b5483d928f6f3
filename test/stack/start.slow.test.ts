import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { localAws } from '../../infra/invoke-function.ts';
import type { Envelope } from '../../infra/local/aws.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { documentedFetch } from '../support/api-document.ts';
import { tokenResponse } from '../support/expectations.ts';
import { startStore } from '../support/own-table.ts';
import { serviceOf } from '../support/service.ts';
import { type RunningService, startService } from '../support/start-service.ts';
import { awsEndpointOf } from '../support/stolen-signing-keys.ts';

const run = promisify(execFile);

let running: RunningService;

beforeAll(async () => {
  running = await startService();
});

afterAll(() => running.stop());

const spawned: ChildProcess[] = [];
afterEach(() => {
  for (const child of spawned.splice(0)) child.kill('SIGKILL');
});

/** A stack in a process of its own, which does not outlive its test. */
function spawnStart(directory: string, environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, ['infra/local/start.ts'], {
    env: { ...process.env, NODE_OPTIONS: '', LOCAL_DIR: directory, PORT: '0', ...environment },
  });
  spawned.push(child);
  const written = { stdout: '', stderr: '' };
  child.stdout.on('data', (text) => (written.stdout += text));
  child.stderr.on('data', (text) => (written.stderr += text));
  const ended = once(child, 'close').then(([code]) => ({ code, ...written }));
  const ready = async () => {
    while (!written.stdout.includes('Ctrl-C') && child.exitCode === null) await wait(20);
    return { pid: child.pid, ...written };
  };
  return { child, ready, ended };
}

const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'login-service-'));

/** Starts one that is not expected to come up; what it leaves behind. */
async function startInVain(environment: Record<string, string>) {
  const directory = newDirectory();
  const left = await spawnStart(directory, environment).ended;
  const files = readdirSync(directory);
  rmSync(directory, { recursive: true });
  return { ...left, files };
}

describe('packages that are not installed: one clear line, exit code 1', () => {
  let directory: string;
  beforeAll(() => {
    directory = newDirectory();
    for (const path of ['package.json', 'infra/require-install.js'])
      cpSync(path, join(directory, path), { recursive: true });
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  test.each(['start', 'operator', 'test', 'test:slow', 'generate', 'docs', 'synth', 'capacity'])(
    'npm run %s before npm ci',
    async (script) => {
      const child = spawn('npm', ['run', '-s', script, '--', 'accounts', 'create'], { cwd: directory });
      let stderr = '';
      child.stderr.on('data', (text) => (stderr += text));
      const [code] = await once(child, 'close');
      // npm may warn of settings of this machine.
      const lines = stderr.split('\n').filter((one) => !one.startsWith('npm warn'));
      expect({ code, lines }).toEqual({
        code: 1,
        lines: ['The packages are not installed yet. Run npm ci first.', ''],
      });
    },
  );

  test('a machine that none of the Node packages fits, with an older Node of its own', async () => {
    const older = "Object.defineProperty(process.versions, 'node', { value: '22.1.0' })";
    const words = ['--import', `data:text/javascript,${older}`, 'infra/require-install.js'];
    const stderr = expect.stringMatching(/^The scripts need Node 24 or newer, .+: its own is 22\.1\.0\.\n$/);
    await expect(run(process.execPath, words)).rejects.toMatchObject({ code: 1, stderr });
  });
});

describe('npm start', () => {
  test('a taken port: one clear line, exit code 1, nothing left behind', async () => {
    const taken = await serve((_, response) => response.end('mine'));
    try {
      const { port } = new URL(taken.url);
      expect(await startInVain({ PORT: port })).toEqual({
        code: 1,
        stdout: '',
        stderr: `Port ${port} is taken. PORT=0 npm start takes a free one.\n`,
        files: [],
      });
      expect(await (await fetch(taken.url)).text()).toBe('mine');
    } finally {
      await taken.close();
    }
  });

  test('flags are named as ignored', async () => {
    const npm = run('npm', ['start', '--', '--port', '4000'], {
      env: { ...process.env, NODE_OPTIONS: '', PORT: 'none' },
    });
    const stderr = expect.stringMatching(
      /^Ignored: --port 4000\. Set variables instead, as in PORT=4000 npm start\.$/m,
    );
    await expect(npm).rejects.toMatchObject({ stderr });
  });

  test.each([
    ...['abc', '-1', '65536', '1e3'].map((port) => ['PORT', port]),
    ...['foo', '127.0.0.1:8000', 'ftp://127.0.0.1'].map((endpoint) => ['DYNAMODB_ENDPOINT', endpoint]),
    ...[
      'here',
      'http://192.0.2.1',
      'http://127.0.0.1.example.com',
      'http://127.0.0.1@example.com',
      'file:///tmp',
    ].map((address) => ['EVENTS_TO', address]),
    ['LOG_LEVEL', 'LOUD'],
    ['TOKEN_ALGORITHM', 'HS256'],
  ])('%s=%s: one line that names it, exit code 1', async (name = '', value = '') => {
    expect(await startInVain({ [name]: value })).toEqual({
      ...{ code: 1, stdout: '', files: [] },
      stderr: expect.stringMatching(new RegExp(`^${name}: .*\n$`)),
    });
  });

  test('an ORIGIN_SECRET_HASHES that may be the secret itself is refused, and not shown', async () => {
    expect(await startInVain({ ORIGIN_SECRET_HASHES: 'abc' })).toMatchObject({
      code: 1,
      stderr:
        'ORIGIN_SECRET_HASHES: must be one or two SHA-256 hashes in lower-case hex, separated by a comma.\n',
    });
  });

  test('kill of npm stops the service', async () => {
    const directory = newDirectory();
    const npm = spawn('npm', ['start'], {
      env: { ...process.env, NODE_OPTIONS: '', LOCAL_DIR: directory, PORT: '0' },
    });
    spawned.push(npm);
    const files = () => readdirSync(directory).sort();
    while (!files().includes('demo.json') && npm.exitCode === null) await wait(20);
    const { base_url } = JSON.parse(readFileSync(join(directory, 'demo.json'), 'utf8'));
    npm.kill('SIGTERM');
    await once(npm, 'close');
    expect(files()).toEqual(['audit.ndjson']);
    await expect(fetch(base_url)).rejects.toThrow();
    rmSync(directory, { recursive: true });
  });

  test('Ctrl-C: exit code 0, nothing on standard error, all files gone but the audit lines, the port free again', async () => {
    const { demo, directory, interrupt, output, stop } = await startService();
    expect(existsSync(join(directory, 'demo.json'))).toBe(true);
    // A connection that is kept open, as clients do.
    expect((await documentedFetch(`${demo.base_url}/`)).status).toBe(404);
    expect(await interrupt()).toBe(0);
    // The test itself keeps what the process writes, and the clock.
    expect(readdirSync(directory)).toEqual(['audit.ndjson', 'clock-offset', 'output.txt']);
    expect(output()).not.toMatch(/error|warning/i);
    const { port } = new URL(demo.base_url);
    const another = await serve((_, response) => response.end(), Number(port));
    await another.close();
    await stop();
  });

  test('where a stack runs already: one clear line, exit code 1, and the operator still finds the first', async () => {
    const stackFile = join(running.directory, 'stack.json');
    const [{ pid }, demo] = [JSON.parse(readFileSync(stackFile, 'utf8')), running.demo];
    const { code, stdout, stderr } = await spawnStart(running.directory).ended;
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: `A stack already runs at ${demo.base_url} (process ${pid}). Stop it first, or start another with PORT=0 LOCAL_DIR=FOLDER npm start.\n`,
    });
    expect(JSON.parse(readFileSync(join(running.directory, 'demo.json'), 'utf8'))).toEqual(demo);
    const { account_id } = await serviceOf(demo, running.directory).operate('accounts', 'create', {
      name: 'x',
    });
    expect(account_id).toMatch(/^ac_/);
  });

  test('where one was killed, it starts', async () => {
    const directory = newDirectory();
    const killed = spawnStart(directory);
    await killed.ready();
    killed.child.kill('SIGKILL');
    await killed.ended;
    expect(readdirSync(directory).sort()).toEqual(['audit.ndjson', 'demo.json', 'stack.json']);

    const next = spawnStart(directory);
    expect(await next.ready()).toMatchObject({ stderr: '' });
    next.child.kill('SIGINT');
    expect(await next.ended).toMatchObject({ code: 0, stderr: '' });
    rmSync(directory, { recursive: true });
  });

  test('says that the embedded store publishes nothing, and what to do', async () => {
    const { DYNAMODB_ENDPOINT: otherStore } = process.env;
    const lines = running
      .output()
      .match(/^It publishes no events, .* EVENTS_TO=terminal npm start .* \(see docs\/events\.md\)\.$/gm);
    expect(lines?.length ?? 0).toBe(otherStore === undefined ? 1 : 0);
  });

  test('EVENTS_TO without Java and Maven: one line, exit code 1', async () => {
    expect(await startInVain({ EVENTS_TO: 'terminal', DYNAMODB_ENDPOINT: '', PATH: '' })).toMatchObject({
      ...{ code: 1, files: [] },
      stderr: expect.stringMatching(/^spawn (java|mvn) ENOENT\n$/),
    });
  });

  test('events go to the consumer once it is up; the terminal shows them, and says which were not taken', async () => {
    const down = await serve(() => {});
    await down.close();
    const store = await startStore();
    const started = await startService({ EVENTS_TO: down.url, DYNAMODB_ENDPOINT: store.url });
    const publish = async (...types: string[]) => {
      const Entries = types.map((DetailType) => ({
        ...{
          Source: 'login-service',
          DetailType,
          Time: new Date(1_769_846_400_500),
          Detail: '{"id":"pe_1"}',
        },
      }));
      await new EventBridgeClient(localAws(awsEndpointOf(started))).send(new PutEventsCommand({ Entries }));
    };
    const says = async (line: RegExp) => {
      while (!line.test(started.output())) await wait(20);
    };
    await publish('first', 'second');
    await says(
      /^http\S+ did not take the event \S+ \(.*ECONNREFUSED.*\)\. It is sent again until it does\.$/m,
    );
    const received: Envelope[] = [];
    const statuses = [302, 500];
    const consumer = await serve(
      async (request, response) => {
        const event: Envelope = JSON.parse((await readBody(request)).toString());
        const status = statuses.pop() ?? 204;
        if (status === 204 && event['detail-type'] !== 'unwelcome') received.push(event);
        response.writeHead(event['detail-type'] === 'unwelcome' ? 400 : status, { location: '/' }).end();
      },
      Number(new URL(down.url).port),
    );
    await publish('unwelcome', 'last');
    await says(/\(it answered with 400\)/);
    while (received.length < 3) await wait(20);
    expect(received.map((event) => event['detail-type']).toSorted()).toEqual(['first', 'last', 'second']);
    expect(await started.interrupt()).toBe(0);
    expect(started.output()).toMatch(/^http\S+ never took 1 of the events; they are lost\.$/m);
    const printed = [...started.output().matchAll(/^event (.*)$/gm)].map(([, event = '']) =>
      JSON.parse(event),
    );
    expect(printed).toEqual(expect.arrayContaining(received));
    expect(printed[0]).toEqual({
      ...{ version: '0', 'detail-type': 'first', source: 'login-service', account: '000000000000' },
      ...{ id: expect.stringMatching(/^[0-9a-f-]{36}$/), time: '2026-01-31T08:00:00Z', region: 'us-east-1' },
      ...{ resources: [], detail: { id: 'pe_1' } },
    });
    await started.stop();
    await consumer.close();
    await store.close();
  });

  test('everything listens on the loopback address alone', async () => {
    const { url: awsUrl } = awsEndpointOf(running);
    const { base_url, sandbox_url, dynamodb_endpoint } = running.demo;
    // What listens on every address of the machine answers on 127.0.0.2 too.
    const interfaces = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
    const others = interfaces.filter(({ internal, family }) => !internal && family === 'IPv4');
    const urls = [base_url, sandbox_url, dynamodb_endpoint, awsUrl];
    // A DynamoDB that was given listens where it likes.
    for (const url of urls.filter((one) => one !== process.env.DYNAMODB_ENDPOINT)) {
      await fetch(url);
      for (const address of ['127.0.0.2', ...others.map(({ address }) => address)]) {
        const elsewhere = fetch(url.replace('127.0.0.1', address), { signal: AbortSignal.timeout(2_000) });
        await expect(elsewhere).rejects.toThrow();
      }
    }
  });

  test('.local/demo.json has exactly the documented keys', () => {
    const text = readFileSync(join(running.directory, 'demo.json'), 'utf8');
    const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/);
    const client = (id: string) => ({
      login_app_id: id,
      client_id: expect.stringMatching(new RegExp(`^${id}\\.`)),
      client_secret: expect.stringMatching(/^lcs_[\w-]{43}$/),
    });
    const account = {
      account_id: expect.stringMatching(/^ac_/),
      account_secret: expect.stringMatching(/^acs_[\w-]{43}$/),
    };
    const demo = JSON.parse(text);
    expect(demo).toEqual({
      base_url: url,
      sandbox_url: url,
      dynamodb_endpoint: url,
      table_name: expect.stringMatching(/./),
      login_app: client(demo.login_app.login_app_id),
      other_login_app: client(demo.other_login_app.login_app_id),
      login_app_without_mobile_application: client(demo.login_app_without_mobile_application.login_app_id),
      account,
      other_account: account,
      access_request_id: 1,
    });
    const secrets = text.match(/(lcs|acs)_[\w-]+/g);
    expect(new Set(secrets).size).toBe(5);
  });

  test.each(['bash', 'sh'])(
    'the printed lines work in %s, each with what the one before returned',
    async (shell) => {
      const last = /^curl .*\/events\?page_size=1&page=2"; echo$/m;
      while (!last.test(running.output())) await wait(20);
      const printed = running.output();
      const lines = printed.slice(printed.indexOf('BASE='), printed.search(last));
      const pasted = run(shell, ['-eu']);
      pasted.child.stdin?.end(lines + (printed.match(last)?.[0] ?? ''));
      const { stdout, stderr } = await pasted;
      expect(stderr).toBe('');
      const [logIn, byCode, device, related, page, ...more] = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect({ logIn, byCode }).toEqual({ logIn: tokenResponse, byCode: tokenResponse });
      expect(device).toEqual({ id: expect.stringMatching(/^d_/) });
      expect(related).toEqual(device);
      expect(page).toMatchObject({ total: 3, offset: 1, count: 1, results: [{ id: 2, type: 'review' }] });
      expect(more).toEqual([]);
    },
  );

  test("the README's lines in another folder: a clear line for each value, and no stack trace", async () => {
    const directory = newDirectory();
    const [lines = ''] = readFileSync('README.md', 'utf8').match(/^demo\(\).*?(?=^field\(\))/ms) ?? [];
    const pasted = run('sh', [], { cwd: directory });
    pasted.child.stdin?.end(lines);
    const { stdout, stderr } = await pasted;
    const line = 'No .local/demo.json: run npm start, and this in its folder.\n';
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: line.repeat(7) });
    rmSync(directory, { recursive: true });
  });

  test("the demo's access request: a comment by a login user, a review by a custom actor, a review by a login user", async () => {
    const { body } = await serviceOf(running.demo, running.directory).search();
    expect(body.total).toBe(3);
    expect(body.results).toMatchObject([
      { id: 1, type: 'comment', actor_type: 'login_user' },
      { id: 2, type: 'review', actor_type: 'custom', status: 'rejected' },
      { id: 3, type: 'review', actor_type: 'login_user', status: 'approved', comment: '' },
    ]);
  });
});
