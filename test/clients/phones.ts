import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { tryIt } from '../../infra/local/try-it.ts';
import { codeBlock } from '../support/code-blocks.ts';
import { asTested } from '../support/commands.ts';
import { newPublicClient } from '../support/phone.ts';
import { type Service, unique } from '../support/service.ts';
import type { RunningService } from '../support/start-service.ts';

const examples = join(import.meta.dirname, '../../docs/examples/phones');

export function copyExamples(folder: string, ...names: string[]): void {
  for (const name of names) copyFileSync(join(examples, name), join(folder, name));
}

const simulator = ['--sdk', 'iphonesimulator'];

export const hasXcode = (): Promise<boolean> =>
  execa('xcrun', [...simulator, '--show-sdk-path']).then(
    () => true,
    () => false,
  );

/** Type-checks the files in Swift with the SDK of iOS. */
export async function compileSwift(): Promise<void> {
  const files = ['Session.swift', 'PublicClient.swift', 'Phone.swift'].map((name) =>
    join(examples, name),
  );
  const options = ['-typecheck', '-swift-version', '6', '-target', 'arm64-apple-ios16.4-simulator'];
  await execa('xcrun', [...simulator, 'swiftc', ...options, ...files]);
}

/**
 * Installs Express as the page says, and starts the backend of the quickstarts in a folder; its
 * process and its address.
 */
export async function startBackend(folder: string, { demo }: Service) {
  copyExamples(folder, 'backend.mjs');
  const [, install = ''] =
    readFileSync('docs/phones.md', 'utf8').match(/^(npm install .*)$/m) ?? [];
  await execa(install, { cwd: folder, shell: true, env: asTested });
  const options = { cwd: folder, reject: false, timeout: 60_000 } as const;
  const unset = await execa(process.execPath, ['backend.mjs'], options);
  assert.match(unset.stderr, /^Error: Set BASE and CLIENT\.$/m);
  const { client_id, client_secret } = demo.login_app;
  const backend = spawn(process.execPath, ['backend.mjs'], {
    cwd: folder,
    env: {
      ...process.env,
      BASE: demo.base_url,
      CLIENT: `${client_id}:${client_secret}`,
      PORT: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed] = await Promise.race([once(backend.stdout, 'data'), once(backend, 'exit')]);
  const [, port] = /on port (\d+)/.exec(String(printed)) ?? [];
  assert.ok(port, 'The backend has not started.');
  return { backend, address: `http://127.0.0.1:${port}` };
}

/** Sends requests to the backend that lack something, or are no JSON. */
export async function sendFaults(backend: string): Promise<void> {
  const send = async (path: string, body: string) => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${backend}${path}`, { method: 'POST', headers, body });
    return [answer.status, Object(await answer.json())] as const;
  };
  const required = (name: string) => ({
    error: 'invalid_request',
    error_description: `The parameter ${name} is required.`,
  });
  const [, { nonce }] = await send('/nonce', '{}');
  assert.deepEqual(await send('/login', JSON.stringify({ nonce })), [400, required('id_token')]);
  for (const body of ['{}', '{"nonce":"own"}'])
    assert.deepEqual(await send('/login', body), [400, { error: 'unknown_nonce' }]);
  assert.deepEqual(await send('/refresh', '{}'), [400, required('refresh_token')]);
  assert.deepEqual(await send('/refresh', '{"refresh_token":'), [
    400,
    { error: 'invalid_request' },
  ]);
}

/**
 * Runs the lines of the page that try the reference, as a reader does; what the last of them
 * prints, and what the page says.
 */
export async function runReference(
  { demo }: Service,
  directory: string,
): Promise<[string, string]> {
  const heading = 'Try it on your machine';
  const input = `${tryIt(demo)}echo ===\n${codeBlock('phones.md', 'sh', heading)}`;
  const { stdout } = await execa('bash', ['-e'], {
    input,
    env: { ...asTested, LOCAL_DIR: directory },
  });
  return [`${stdout.split('===\n').at(-1)}\n`, codeBlock('phones.md', 'text', heading)];
}

/** A public client, and the key of its phone: PKCS #8 and SPKI in base64. */
export async function newPublicClientOfPhone(service: Service) {
  const { login_app_id } = service.demo.login_app;
  const token = { 'login-app': login_app_id, name: 'quickstart' };
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return {
    client_id: await newPublicClient(service),
    app_token: Object(await service.operate('login-apps', 'tokens create', token)).login_app_token,
    private_key: privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
    public_key: publicKey.export({ type: 'spki', format: 'der' }).toString('base64'),
  };
}

/** What a public client sees with another key than that of its session. */
const ofLostKey = { lost_key: 'LoggedOut', kept: 0, stolen_login: 'invalid_grant' };

/**
 * Starts a quickstart's app twice: it logs in, and 16 minutes later deletes its account, but not
 * that of another login.
 * @param source the address of its backend, or its public client
 */
export async function usePhone(
  running: RunningService,
  service: Service,
  source: string | Awaited<ReturnType<typeof newPublicClientOfPhone>>,
  command: string[],
): Promise<void> {
  const { base_url, sandbox_url } = service.demo;
  const subject = unique('phone');
  const start = async (stored?: unknown) => {
    const input = JSON.stringify({ source, base_url, sandbox_url, subject, stored });
    const [program = '', ...words] = command;
    const { stdout } = await execa(program, [...words, input]);
    return JSON.parse(stdout);
  };

  const { stored, logged_out, ...first } = await start();
  assert.deepEqual(first, {
    devices: 1,
    renewed: true,
    refreshes: [1, 2],
    same_login_again: 'success',
    after_logout: 'LoggedOut',
    told_by_app: 'Ada',
    guests: [true, false, true, 'conflict', 'success', 'LoggedOut', true],
    ...(typeof source === 'object' ? ofLostKey : {}),
  });
  const revoked = await service.listDevices(logged_out);
  assert.equal(revoked.status, 401, 'The session goes on after the logout.');

  running.advance(16 * 60);
  try {
    const deletions = ['AnotherAccount', 'success'];
    assert.deepEqual(await start(stored), { deletions, after_deletion: 'LoggedOut', stored: {} });
  } finally {
    running.resetClock();
  }
}
