import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { startDynalite } from '../../infra/local/dynamodb.ts';
import { filesIn, writeLocalFiles } from '../../infra/local/local-files.ts';

/** What other people and web pages on a developer's machine get of a stack that runs there. */
describe('a stack on this machine', () => {
  test('[CWE-732] only the owner can read the file with the ids and secrets of the demo, also if there was one before', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'local-files-'));
    const files = filesIn(directory);
    writeFileSync(files.demo, '{}', { mode: 0o644 });
    writeLocalFiles(files, { url: 'http://127.0.0.1:1', aws_endpoint: 'http://127.0.0.1:2' }, {});
    expect(statSync(files.demo).mode & 0o777).toBe(0o600);
    rmSync(directory, { recursive: true });
  });

  test('[CWE-942] no web page can read or change the table', async () => {
    const store = await startDynalite();
    const send = (method: string, more: Record<string, string>) =>
      fetch(store.url, {
        method,
        headers: {
          'content-type': 'application/x-amz-json-1.0',
          'x-amz-target': 'DynamoDB_20120810.ListTables',
          'x-amz-date': '20260131T080000Z',
          authorization: 'AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=c, Signature=d',
          ...more,
        },
        ...(method === 'POST' && { body: '{}' }),
      });
    expect((await send('POST', {})).status).toBe(200);
    const asked = {
      'access-control-request-headers': 'x-amz-target',
      'access-control-request-method': 'POST',
    };
    for (const [method, more] of [
      ['OPTIONS', asked],
      ['POST', {}],
    ] as const) {
      const { status, headers } = await send(method, { origin: 'https://attacker.example', ...more });
      expect(status).toBeGreaterThan(399);
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
    await store.close();
  });
});
