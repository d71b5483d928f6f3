import {
  copyFileSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { execa } from 'execa';
import { pascal, readFunctions } from '../../infra/endpoints.ts';
import { listen } from '../../infra/local/loopback-server.ts';
import { openHostSockets } from '../../infra/local/sam/host-sockets.ts';
import { functionVariables, startVariables } from '../../infra/local/start-settings.ts';
import { freePort } from '../support/commands.ts';

const folder = join(process.env.SERVICE_DIR ?? '', 'sam');
const read = (file: string) => JSON.parse(readFileSync(join(folder, file), 'utf8'));
const { Resources } = read('template.json');

/** Runs a function in a process of its own, with the variables of the template and no others. */
async function invoke(name: string, event: string) {
  const { Handler, Environment } = Resources[name].Properties;
  const { NODE_OPTIONS, ...env } = Environment.Variables;
  const bundle = join(folder, 'code', Handler.replace('.handler', '.mjs'));
  const program = `
    const { handler } = await import(${JSON.stringify(bundle)});
    const context = { awsRequestId: '1', getRemainingTimeInMillis: () => 60_000 };
    const event = ${JSON.stringify(read(`events/${event}.json`))};
    process.stdout.write(JSON.stringify(await handler(event, context)) + '\\n');`;
  // As on Lambda, so that the function requires its variables when it is loaded.
  const lambda = { AWS_LAMBDA_FUNCTION_NAME: name };
  const words = ['--input-type=module', '--eval', program];
  const { stdout } = await execa(process.execPath, words, {
    env: { ...env, ...lambda },
    extendEnv: false,
  });
  return JSON.parse(stdout.split('\n').at(-1) ?? '');
}

describe('what npm start writes for sam local invoke', () => {
  test.each([
    ['IssueToken', 'provider-credentials', [200]],
    ['IssueToken', 'authorization-code', [200]],
    ['IssueToken', 'authorization-code', [200]],
    ['SearchEvents', 'search-events', [200]],
    ['RelateDevice', 'relate-device', [200]],
    ['RegisterDevice', 'register-device', [200, 201]],
  ])('%s answers the event %s with success, however often', async (name, event, statuses) => {
    const { statusCode, body } = await invoke(name, event);
    expect({ statusCode, body }).toEqual({
      statusCode: expect.any(Number),
      body: expect.any(String),
    });
    expect(statuses).toContain(statusCode);
  });

  test('the template has the function of each endpoint, for the processor of this machine', () => {
    const names = [...readFunctions().endpoints.keys()].map(pascal);
    expect(Object.keys(Resources)).toEqual(names);
    const processor = process.arch === 'arm64' ? 'arm64' : 'x86_64';
    expect(Resources.IssueToken.Properties.Architectures).toEqual([processor]);
  });

  test('each variable of npm start that functions read reaches them', () => {
    const files = globSync('lib/**/*.ts');
    const code = files.map((file) => readFileSync(file, 'utf8')).join('');
    const readByFunctions = startVariables.filter((name) => code.includes(`'${name}'`));
    expect(functionVariables.toSorted()).toEqual(readByFunctions.toSorted());
    // The shared service is started with it.
    expect(Resources.IssueToken.Properties.Environment.Variables.LOG_LEVEL).toBe('INFO');
  });

  test('[CWE-732] only the owner can read it', () => {
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    for (const file of readdirSync(join(folder, 'events')))
      expect(statSync(join(folder, 'events', file)).mode & 0o777).toBe(0o600);
  });
});

describe('the way from a container to the servers of npm start', () => {
  const directory = mkdtempSync(join(tmpdir(), 'sam-'));
  afterAll(() => rmSync(directory, { recursive: true }));

  test('at the same address as outside, through a socket beside the bundles', async () => {
    const server = await listen(
      createServer((_, response) => response.end('from the host')),
      0,
    );
    const close = await openHostSockets(directory, [server.port]);
    // Here, the port of the server is taken. A container has another one free.
    const port = await freePort();
    renameSync(join(directory, `${server.port}.sock`), join(directory, `${port}.sock`));
    copyFileSync('infra/local/sam/reach-host.mjs', join(directory, 'reach-host.mjs'));
    const program = `process.stdout.write(await (await fetch('http://127.0.0.1:${port}')).text())`;
    const words = [
      '--import',
      join(directory, 'reach-host.mjs'),
      '--input-type=module',
      '--eval',
      program,
    ];
    const { stdout } = await execa(process.execPath, words, { env: { HOST_PORTS: port } });
    expect(stdout).toBe('from the host');
    close();
    await server.close();
  });

  test('without npm start, it says what cannot be reached', async () => {
    const port = await freePort();
    copyFileSync('infra/local/sam/reach-host.mjs', join(directory, 'reach-host.mjs'));
    const program = `await fetch('http://127.0.0.1:${port}').catch(() => {})`;
    const words = [
      '--import',
      join(directory, 'reach-host.mjs'),
      '--input-type=module',
      '--eval',
      program,
    ];
    const { stderr } = await execa(process.execPath, words, { env: { HOST_PORTS: port } });
    expect(stderr).toMatch(
      /^npm start cannot be reached from this container\. .*host\.docker\.internal: /,
    );
  });
});
