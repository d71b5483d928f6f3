import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, describe, expect, test } from '@jest/globals';
import { callOperator } from '../../infra/call-operator.ts';
import { localAws } from '../../infra/invoke-function.ts';
import type { Demo } from '../../infra/local/demo.ts';
import { startDynalite } from '../../infra/local/dynamodb.ts';
import { localFiles, readStackFile, writeLocalFiles } from '../../infra/local/local-files.ts';
import { readBody } from '../../infra/local/loopback-server.ts';

const running = localFiles(process.env.SERVICE_DIR ?? '');
const { aws_endpoint: endpoint } = readStackFile(running);
const demo: Demo = JSON.parse(readFileSync(running.demo, 'utf8'));
const store = await startDynalite();
afterAll(() => store.close());

/** What other people and web pages on a developer's machine get of a stack that runs there. */
describe('a stack on this machine', () => {
  test('[CWE-732] only the owner can read the file with the ids and secrets of the demo, also if there was one before', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'local-files-'));
    const files = localFiles(directory);
    writeFileSync(files.demo, '{}', { mode: 0o644 });
    writeLocalFiles(
      files,
      { url: 'http://127.0.0.1:1', aws_endpoint: { url: 'http://127.0.0.1:2', secret_access_key: 'x' } },
      {},
    );
    expect(statSync(files.demo).mode & 0o777).toBe(0o600);
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
      const response = await new Promise<IncomingMessage>((resolve) => {
        request(url, { method, headers }, resolve).end();
      });
      if (!(await readBody(response)).toString().includes('No other web page')) return false;
      expect(response.statusCode).toBe(403);
      expect(Object.keys(response.headers).filter((name) => /^access-control/.test(name))).toEqual([]);
      return true;
    };
    // The Android emulator has 10.0.2.2 for this machine.
    for (const name of ['127.0.0.1', 'localhost', '10.0.2.2']) {
      const host = `${name}:${port}`;
      for (const own of [{ host }, { host, origin: `http://${host}` }])
        expect(await isStrange(own)).toBe(false);
    }
    for (const name of ['attacker.example', '127.0.0.1.attacker.example', 'localhost.attacker.example'])
      expect(await isStrange({ host: `${name}:${port}` })).toBe(true);
    for (const origin of ['https://attacker.example', 'null', 'http://127.0.0.1:1', `https://${host}`])
      for (const method of ['OPTIONS', 'POST', 'GET']) expect(await isStrange({ origin }, method)).toBe(true);
  });

  test('[CWE-347] whoever does not know the access key of the stack gets no secret, and no command carried out', async () => {
    const read = new GetSecretValueCommand({ SecretId: 'signing-keys' });
    expect((await new SecretsManagerClient(localAws(endpoint)).send(read)).SecretString).toContain('"d":');
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
