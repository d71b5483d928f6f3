import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, describe, expect, test } from '@jest/globals';
import { decodeJwt } from 'jose';
import type { Demo } from '../../infra/local/demo.ts';
import { startEmbeddedStore } from '../../infra/local/embedded-store.ts';
import {
  localFiles,
  readStackFile,
  writeAuditLinesTo,
  writeLocalFiles,
} from '../../infra/local/local-files.ts';
import { readBody } from '../../infra/local/loopback-server.ts';
import { callOperator } from '../../infra/operator/call/call-operator.ts';
import { localAws } from '../../infra/operator/call/invoke-function.ts';
import { auditTrail } from '../../lib/log/log.ts';
import { serviceOf } from '../support/service.ts';
import { startService } from '../support/start-service.ts';

const running = localFiles(process.env.SERVICE_DIR ?? '');
const { aws_endpoint: endpoint } = readStackFile(running);
const demo: Demo = JSON.parse(readFileSync(running.demo, 'utf8'));
const store = await startEmbeddedStore();
afterAll(() => store.close());

/** Sends a request, even with a header that fetch would not. */
async function send(url: string, headers: Record<string, string>, method = 'GET') {
  const response = await new Promise<IncomingMessage>((resolve) => {
    request(url, { method, headers }, resolve).end();
  });
  const text = (await readBody(response)).toString();
  return { status: response.statusCode, headers: response.headers, text };
}

/** What other people and web pages on a developer's machine get of a stack that runs there. */
describe('a stack on this machine', () => {
  test('[CWE-732] only the owner can read the file with the ids and secrets of the demo, also if there was one before', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'local-files-'));
    const files = localFiles(directory);
    writeFileSync(files.demo, '{}', { mode: 0o644 });
    writeLocalFiles(
      files,
      {
        url: 'http://127.0.0.1:1',
        aws_endpoint: { url: 'http://127.0.0.1:2', secret_access_key: 'x' },
      },
      {},
    );
    expect(statSync(files.demo).mode & 0o777).toBe(0o600);
    rmSync(directory, { recursive: true });
  });

  test('[CWE-59] no audit line goes through a symbolic link', () => {
    const directory = mkdtempSync(join(tmpdir(), 'local-files-'));
    const [files, other] = [localFiles(directory), join(directory, 'other')];
    writeFileSync(other, 'mine');
    symlinkSync(other, files.audit);
    const { write } = auditTrail;
    writeAuditLinesTo(files);
    auditTrail.write('one\n');
    auditTrail.write('two\n');
    auditTrail.write = write;
    expect([other, files.audit].map((file) => readFileSync(file, 'utf8'))).toEqual([
      'mine',
      'one\ntwo\n',
    ]);
    rmSync(directory, { recursive: true });
  });

  test.each([
    ['the API', demo.base_url],
    ['the sandbox', demo.sandbox_url],
    ['the AWS services', endpoint.url],
    ['the table', store.url],
  ])('[CWE-346] no web page of somebody else reaches %s', async (_, url) => {
    const { host, port } = new URL(url);
    /** Whether a request is turned away as one of a stranger. */
    const isStrange = async (headers: Record<string, string>, method = 'POST') => {
      const answer = await send(url, headers, method);
      if (!answer.text.includes('"The header ')) return false;
      expect(answer.status).toBe(403);
      expect(Object.keys(answer.headers).filter((name) => /^access-control/.test(name))).toEqual(
        [],
      );
      return true;
    };
    // The Android emulator has 10.0.2.2 for this machine, and containers have a name for it.
    const containers = ['host.docker.internal', 'host.containers.internal'];
    for (const name of ['127.0.0.1', 'localhost', '10.0.2.2', ...containers]) {
      const host = `${name}:${port}`;
      for (const own of [{ host }, { host, origin: `http://${host}` }])
        expect(await isStrange(own)).toBe(false);
    }
    for (const name of [
      'attacker.example',
      '127.0.0.1.attacker.example',
      'localhost.attacker.example',
    ])
      expect(await isStrange({ host: `${name}:${port}` })).toBe(true);
    for (const origin of [
      'https://attacker.example',
      'null',
      'http://127.0.0.1:1',
      `https://${host}`,
    ])
      for (const method of ['OPTIONS', 'POST', 'GET'])
        expect(await isStrange({ origin }, method)).toBe(true);
  });

  test('control: a request that is turned away is told by which header, and how to let it in; the terminal shows it, too', async () => {
    const own = await startService({ HOSTS: 'my-machine.local,localhost' });
    const { base_url, sandbox_url } = own.demo;
    const { host, port } = new URL(base_url);
    const path = '/v2/marketing/oauth/jwks';
    const url = `${base_url}${path}`;
    const allowed = [
      { host: `my-machine.local:${port}` },
      { host: 'MY-MACHINE.LOCAL' },
      { host, origin: 'http://localhost:5173' },
      { host, origin: 'https://my-machine.local' },
    ];
    for (const headers of allowed) expect((await send(url, headers)).status).toBe(200);
    const isOther = 'The header Host is not a name of this machine.';
    const isPage =
      'The header Origin is not this server: no other web page may send requests here.';
    const mend = (name: string) => `To allow it, restart with HOSTS=${name} npm start.`;
    const refused: [Record<string, string>, string][] = [
      [{ host: `other.example:${port}` }, `${isOther} ${mend('other.example')}`],
      [{ host: 'not.my-machine.local' }, `${isOther} ${mend('not.my-machine.local')}`],
      [{ host, origin: 'http://other.example:5173' }, `${isPage} ${mend('other.example')}`],
      [{ host, origin: 'null' }, `${isPage} Use 127.0.0.1 or localhost.`],
    ];
    for (const [headers, error_description] of refused) {
      const { status, headers: got, text } = await send(url, headers);
      expect(got['content-type']).toBe('application/json; charset=utf-8');
      expect([status, JSON.parse(text)]).toEqual([403, { error: 'forbidden', error_description }]);
      expect(own.output()).toContain(`\nGET ${path} 403 forbidden: ${error_description}\n`);
    }
    await send(`${sandbox_url}/provider_a/credentials`, { host: 'other.example' });
    expect(own.output()).toContain(
      `\nGET /provider_a/credentials 403 forbidden: ${isOther} ${mend('other.example')}\n`,
    );
    await own.stop();
  });

  const [network] = Object.values(networkInterfaces())
    .flatMap((addresses = []) => addresses)
    .filter(({ internal, family }) => !internal && family === 'IPv4');

  test.each(['0.0.0.0', ...(network ? [network.address] : [])])(
    'control: HOST=%s lets a phone in, with its address as issuer of the tokens, and keeps the stores to this machine',
    async (HOST) => {
      if (!network) {
        await expect(startService({ HOST })).rejects.toThrow(
          'this machine has no address on a network.',
        );
        return;
      }
      const own = await startService({ HOST });
      const { base_url, sandbox_url, dynamodb_endpoint } = own.demo;
      const onNetwork = (url: string) => url.replace('127.0.0.1', network.address);
      expect(new URL(base_url).hostname).toBe(network.address);
      expect(sandbox_url).toMatch(/^http:\/\/127\.0\.0\.1:/);
      expect(own.output()).toContain(
        `Everybody on this network can use it, such as a phone, which finds the providers at ${onNetwork(sandbox_url)}.`,
      );
      const phone = serviceOf({ ...own.demo, sandbox_url: onNetwork(sandbox_url) }, own.directory);
      const login = await phone.logIn('alice');
      expect(decodeJwt(login.body.access_token).iss).toBe(base_url);
      expect((await send(base_url, { host: 'other.example' })).status).toBe(403);
      const { aws_endpoint } = readStackFile(localFiles(own.directory));
      const stores = process.env.DYNAMODB_ENDPOINT ? [] : [dynamodb_endpoint];
      for (const url of [aws_endpoint.url, ...stores])
        await expect(
          fetch(onNetwork(url), { signal: AbortSignal.timeout(2_000) }),
        ).rejects.toThrow();
      await own.stop();
    },
  );

  test('[CWE-347] whoever does not know the access key of the stack gets no secret, and no command carried out', async () => {
    const read = new GetSecretValueCommand({ SecretId: 'signing-keys' });
    expect((await new SecretsManagerClient(localAws(endpoint)).send(read)).SecretString).toContain(
      '"d":',
    );
    for (const secret_access_key of ['local', '', endpoint.secret_access_key.slice(1)]) {
      const guessed = { url: endpoint.url, secret_access_key };
      await expect(new SecretsManagerClient(localAws(guessed)).send(read)).rejects.toThrow();
      const target = { name: 'operator', endpoint: guessed };
      await expect(callOperator(target, 'accounts list', {})).rejects.toThrow();
    }
    const unsigned = await fetch(`${endpoint.url}/2015-03-31/functions/operator/invocations`, {
      method: 'POST',
      headers: { authorization: 'AWS4-HMAC-SHA256 unchecked' },
      body: '{}',
    });
    expect(unsigned.status).toBe(403);
  });
});
