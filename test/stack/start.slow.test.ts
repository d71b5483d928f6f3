import { on } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { execa, type Options } from 'execa';
import type { Envelope } from '../../infra/local/aws.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';
import { localAws } from '../../infra/operator/call/invoke-function.ts';
import { tokenResponse } from '../support/expectations.ts';
import { documentedFetch } from '../support/loaded-once.ts';
import { serviceOf } from '../support/service.ts';
import { type RunningService, startService } from '../support/start-service.ts';
import { awsEndpointOf } from '../support/stolen-signing-keys.ts';

let running: RunningService;

beforeAll(async () => {
  running = await startService();
});

afterAll(() => running.stop());

const kills: (() => void)[] = [];
afterEach(() => {
  for (const kill of kills.splice(0)) kill();
});

/** A process that does not outlive its test, and whose failure is a result. */
function run(
  command: string,
  words: string[],
  { env = {}, ...others }: Pick<Options, 'cwd' | 'env' | 'input'> = {},
) {
  const own = {
    env: { NODE_OPTIONS: '', PORT: '0', ...env },
    reject: false,
    stripFinalNewline: false,
  } as const;
  const child = execa(command, words, { ...others, ...own });
  kills.push(() => void child.kill('SIGKILL'));
  return child;
}

/** A stack in a process of its own. */
const runStart = (LOCAL_DIR: string, environment: Record<string, string> = {}) =>
  run(process.execPath, ['infra/local/start.ts'], { env: { LOCAL_DIR, ...environment } });

/** Waits until a stack says how to stop it; lines about events may come before. */
async function isUp({ stdout }: ReturnType<typeof run>): Promise<void> {
  let printed = '';
  for await (const [chunk] of on(stdout, 'data', { close: ['end'] })) {
    printed += chunk;
    if (printed.includes('Ctrl-C')) return;
  }
  throw new Error(`It has ended: ${printed}`);
}

const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'login-service-'));

/** Starts one that is not expected to come up; what it leaves behind. */
async function startInVain(environment: Record<string, string>) {
  const directory = newDirectory();
  const { exitCode, stdout, stderr } = await runStart(directory, environment);
  const files = readdirSync(directory);
  rmSync(directory, { recursive: true });
  return { code: exitCode, stdout, stderr, files };
}
const nothing = { code: 1, stdout: '', files: [] };

describe('packages that are not installed: one clear line, exit code 1', () => {
  test.each(['start', 'operator', 'test', 'test:slow', 'generate', 'docs', 'synth', 'capacity'])(
    'npm run %s before npm ci',
    async (script) => {
      const cwd = newDirectory();
      for (const path of ['package.json', 'infra/run.js']) cpSync(path, join(cwd, path));
      const words = ['run', '-s', script, '--', 'accounts', 'create'];
      const { exitCode, stderr } = await run('npm', words, { cwd });
      // npm may warn of settings of this machine.
      const lines = stderr.split('\n').filter((one) => !one.startsWith('npm warn'));
      expect(exitCode).toBe(1);
      expect(lines).toEqual(['The packages are not installed yet. Run npm ci first.', '']);
      rmSync(cwd, { recursive: true });
    },
  );

  test('a machine that none of the Node packages fits, with an older Node of its own', async () => {
    const older = "Object.defineProperty(process.versions, 'node', { value: '22.1.0' })";
    const words = ['--import', `data:text/javascript,${older}`, 'infra/run.js'];
    expect(await run(process.execPath, words)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(
        /^The scripts need Node 24 or newer, .+: its own is 22\.1\.0\.\n$/,
      ),
    });
  });
});

describe('npm start', () => {
  test('a taken port: one clear line, exit code 1, nothing left behind', async () => {
    const taken = await serve((_, response) => response.end('mine'));
    try {
      const { port } = new URL(taken.url);
      expect(await startInVain({ PORT: port })).toEqual({
        ...nothing,
        stderr: `Port ${port} is taken. PORT=0 npm start takes a free one.\n`,
      });
      expect(await (await fetch(taken.url)).text()).toBe('mine');
    } finally {
      await taken.close();
    }
  });

  test('flags are named as ignored, wherever npm has put them', async () => {
    const words = ['start', '--local-dir=/nowhere', '--', '--port', '4000'];
    const { stderr } = await run('npm', words, { env: { PORT: 'none' } });
    expect(stderr).toMatch(
      /^Ignored: --local-dir --port 4000\. Set variables instead, as in PORT=4000 npm start\.$/m,
    );
  });

  const port = 'a whole number from 0 to 65535';
  const address = 'an address such as http://127.0.0.1:8000';
  const near = 'terminal or an address of this machine such as http://127.0.0.1:9000';
  const hosts =
    '127.0.0.1 (the default), 0.0.0.0 for the whole network, or an address of this machine';
  const names = 'names of hosts without ports, separated by commas, such as my-machine.local';
  test.each([
    ...['abc', '-1', '65536', '1e3'].map((given) => ['PORT', given, port]),
    ...['foo', '127.0.0.1:8000', 'ftp://127.0.0.1'].map((given) => [
      'DYNAMODB_ENDPOINT',
      given,
      address,
    ]),
    ...[
      'here',
      '127.0.0.1:9000',
      'http://192.0.2.1',
      'http://127.0.0.1.example.com',
      'http://127.0.0.1@example.com',
      'file:///tmp',
    ].map((given) => ['EVENTS_TO', given, near]),
    ...['my-machine', '198.51.100.7', '127.0.0.1:3000'].map((given) => ['HOST', given, hosts]),
    ...['my-machine.local:3000', 'http://my-machine.local', 'a,,b'].map((given) => [
      'HOSTS',
      given,
      names,
    ]),
    ['LOG_LEVEL', 'LOUD', 'INFO or ERROR'],
    ['AWS_CALL_MILLISECONDS', '1s', 'a whole number of milliseconds'],
  ])(
    '%s=%s: one line that says what it must be, exit code 1',
    async (name = '', value = '', must = '') => {
      expect(await startInVain({ [name]: value })).toEqual({
        ...nothing,
        stderr: `${name} must be ${must}, not ${JSON.stringify(value)}.\n`,
      });
    },
  );

  const days = 86_400;
  test.each([
    ['TOKEN_ALGORITHM', 'HS256', 'RS256 or ES256'],
    ['ACCESS_TOKEN_SECONDS', '1h', `a whole number from 60 to ${days}`],
    ['SESSION_IDLE_SECONDS', '30 days', `a whole number from 3600 to ${365 * days}`],
    ['SESSION_ABSOLUTE_SECONDS', '0', `a whole number from 3600 to ${3650 * days}`],
    ['RECENT_LOGIN_SECONDS', '-1', `a whole number from 0 to ${365 * days}`],
    ['STEP_UP_ACR_VALUES', 'a"b', 'acr values, separated by spaces'],
    ['MAX_SESSIONS', 'many', 'a whole number from 1 to 1000'],
    ['REFRESH_GRACE_SECONDS', 'abc', `a whole number from 0 to ${30 * days}`],
    ['REFRESH_REPLAY_SECONDS', 'abc', `a whole number from 1 to ${30 * days}`],
    ['PROVIDER_TOKENS_PER_MINUTE', '0', 'a whole number from 1 to 100000'],
    ['LOGIN_HOOK_ON', 'logins', 'login or refresh'],
    ['LOGIN_HOOK_SECONDS', '9', 'a whole number from 1 to 5'],
    ['EXTERNAL_ID_IN_TOKENS', 'yes', 'true or false'],
    ['EXTERNAL_ID_IN_EVENTS', '1', 'true or false'],
  ])('%s=%s: one line that says what it must be, as in a deployment', async (name, value, must) => {
    const stderr = `${name} must be ${must}.\n`;
    expect(await startInVain({ [name]: value })).toEqual({ ...nothing, stderr });
  });

  test('a variable that is the limit of another one is named as a variable, too', async () => {
    const environment = { SESSION_IDLE_SECONDS: '7200', SESSION_ABSOLUTE_SECONDS: '3600' };
    const stderr = 'SESSION_IDLE_SECONDS must be at most SESSION_ABSOLUTE_SECONDS.\n';
    expect(await startInVain(environment)).toEqual({ ...nothing, stderr });
  });

  test('a DYNAMODB_ENDPOINT where no DynamoDB answers: the line names the variable', async () => {
    const other = await serve((_, response) => response.end('<!doctype html>'));
    const stderr = `No DynamoDB answers at DYNAMODB_ENDPOINT=${other.url}. Start DynamoDB Local there, or leave DYNAMODB_ENDPOINT out.\n`;
    const isRefused = async () =>
      expect(await startInVain({ DYNAMODB_ENDPOINT: other.url })).toEqual({ ...nothing, stderr });
    await isRefused().finally(other.close);
    await isRefused();
  });

  test('a JOIN without a stack, and a LOCAL_DIR that is no folder: the line names the variable', async () => {
    expect(await startInVain({ JOIN: '/nowhere' })).toEqual({
      ...nothing,
      stderr: 'JOIN=/nowhere has the files of no stack that runs. Start it first.\n',
    });
    for (const directory of ['/proc/data', process.execPath])
      expect(await runStart(directory)).toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: `LOCAL_DIR=${directory} is no folder and cannot be made one. Name another.\n`,
      });
  });

  test('EVENTS_TO of a second process is refused: the stack that it joins publishes', async () => {
    expect(await startInVain({ JOIN: '/nowhere', EVENTS_TO: 'terminal' })).toEqual({
      ...nothing,
      stderr: 'The stack that JOIN names publishes the events: set EVENTS_TO at that stack.\n',
    });
  });

  test('an ORIGIN_SECRET_HASHES that may be the secret itself is refused, and not shown', async () => {
    expect(await startInVain({ ORIGIN_SECRET_HASHES: 'abc' })).toMatchObject({
      code: 1,
      stderr:
        'ORIGIN_SECRET_HASHES must be one or two SHA-256 hashes in lower-case hex, separated by a comma.\n',
    });
  });

  test('kill of npm stops the service', async () => {
    const directory = newDirectory();
    const npm = run('npm', ['-s', 'start'], { env: { LOCAL_DIR: directory } });
    await isUp(npm);
    const { base_url } = JSON.parse(readFileSync(join(directory, 'demo.json'), 'utf8'));
    npm.kill('SIGTERM');
    await npm;
    expect(readdirSync(directory)).toEqual(['audit.ndjson']);
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
    expect(await runStart(running.directory)).toMatchObject({
      exitCode: 1,
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
    const killed = runStart(directory);
    await isUp(killed);
    killed.kill('SIGKILL');
    await killed;
    expect(readdirSync(directory).sort()).toEqual([
      'audit.ndjson',
      'demo.json',
      'sam',
      'stack.json',
    ]);
    const next = runStart(directory);
    await isUp(next);
    next.kill('SIGINT');
    expect(await next).toMatchObject({ exitCode: 0, stderr: '' });
    rmSync(directory, { recursive: true });
  });

  test('says how to see the events of the embedded store', async () => {
    const { DYNAMODB_ENDPOINT: otherStore } = process.env;
    const hint =
      'It prints a line for each event. EVENTS_TO=terminal prints events whole, EVENTS_TO=http://… posts them (see docs/events.md).';
    const hints = running
      .output()
      .split('\n')
      .filter((line) => line === hint);
    expect(hints).toEqual(otherStore === undefined ? [hint] : []);
  });

  test('EVENTS_TO with another store is refused: its changes are not known', async () => {
    const environment = { EVENTS_TO: 'terminal', DYNAMODB_ENDPOINT: 'http://127.0.0.1:1' };
    expect(await startInVain(environment)).toEqual({
      ...nothing,
      stderr: 'EVENTS_TO gets what changes in the embedded store. Leave out DYNAMODB_ENDPOINT.\n',
    });
  });

  test('events go to the consumer once it is up; the terminal shows them, and says which were not taken', async () => {
    const down = await serve(() => {});
    await down.close();
    const started = await startService({ EVENTS_TO: down.url, DYNAMODB_ENDPOINT: '' });
    const publish = async (...types: string[]) => {
      const Entries = types.map((DetailType) => ({
        Source: 'login-service',
        DetailType,
        Time: new Date(1_769_846_400_500),
        Detail: '{"id":"pe_1"}',
      }));
      await new EventBridgeClient(localAws(awsEndpointOf(started))).send(
        new PutEventsCommand({ Entries }),
      );
    };
    const says = async (line: RegExp) => {
      while (!line.test(started.output())) await wait(20);
    };
    await publish('first', 'second');
    await says(
      /^http\S+ did not take the event \S+ \(.*ECONNREFUSED.*\)\. It is sent again until it does\.$/m,
    );
    /** Those of this test: the demo has events, too. */
    const received: Envelope[] = [];
    const isOurs = ({ detail }: Envelope) => detail.id === 'pe_1';
    const statuses = [302, 500];
    const consumer = await serve(
      async (request, response) => {
        const event: Envelope = JSON.parse((await readBody(request)).toString());
        const isUnwelcome = event['detail-type'] === 'unwelcome';
        const status = isUnwelcome ? 400 : (statuses.pop() ?? 204);
        if (status === 204 && isOurs(event)) received.push(event);
        response.writeHead(status, { location: '/' }).end();
      },
      Number(new URL(down.url).port),
    );
    await publish('unwelcome', 'last');
    await says(/\(it answered with 400\)/);
    while (received.length < 3) await wait(20);
    expect(received.map((event) => event['detail-type']).toSorted()).toEqual([
      'first',
      'last',
      'second',
    ]);
    expect(await started.interrupt()).toBe(0);
    expect(started.output()).toMatch(/^http\S+ never took 1 of the events; they are lost\.$/m);
    const printed = [...started.output().matchAll(/^event (.*)$/gm)].map(([, event = '']) =>
      JSON.parse(event),
    );
    expect(printed).toEqual(expect.arrayContaining(received));
    expect(printed.find(isOurs)).toEqual({
      version: '0',
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      'detail-type': 'first',
      source: 'login-service',
      account: '000000000000',
      time: '2026-01-31T08:00:00Z',
      region: 'us-east-1',
      resources: [],
      detail: { id: 'pe_1' },
    });
    await started.stop();
    await consumer.close();
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
        const elsewhere = fetch(url.replace('127.0.0.1', address), {
          signal: AbortSignal.timeout(2_000),
        });
        await expect(elsewhere).rejects.toThrow();
      }
    }
  });

  test('.local/demo.json has these keys and no others', () => {
    const keys = `base_url sandbox_url dynamodb_endpoint table_name login_app other_login_app
      login_app_without_mobile_application account other_account access_request_id`;
    expect(Object.keys(running.demo)).toEqual(keys.split(/\s+/));
  });

  // What each of them prints is compared with the README in docs/commands.slow.test.ts.
  test.each(['bash', 'sh'])(
    'the printed lines work in %s, each with what the one before returned',
    async (shell) => {
      const last = /^curl .*\/events\?page_size=1&page=2"; echo$/m;
      while (!last.test(running.output())) await wait(20);
      const [input = ''] = /^BASE=.*page=2"; echo$/ms.exec(running.output()) ?? [];
      const { stdout, stderr } = await run(shell, ['-eu'], { input });
      expect(stderr).toBe('');
      const [logIn, byCode, device, related, page, ...more] = stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect([logIn, byCode]).toEqual([tokenResponse, tokenResponse]);
      expect(related).toEqual(device);
      expect([page.total, ...more]).toEqual([3]);
    },
  );

  test("the README's lines in another folder: a clear line for each value, and no stack trace", async () => {
    const directory = newDirectory();
    const [input = ''] =
      readFileSync('README.md', 'utf8').match(/^demo\(\).*?(?=^field\(\))/ms) ?? [];
    const { stdout, stderr } = await run('sh', [], { cwd: directory, input });
    const line = 'No .local/demo.json: run npm start, and this in its folder.\n';
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: line.repeat(7) });
    rmSync(directory, { recursive: true });
  });
});
