import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { localDynamoDb } from '../../infra/local/dynamodb.ts';
import { startEmbeddedStore } from '../../infra/local/embedded-store.ts';

describe('the embedded store, killed within a transaction', () => {
  const run = promisify(execFile);
  const root = join(import.meta.dirname, '../..');
  /**
   * Writes two items together and deletes a third, and kills itself before or after one of the
   * store's own calls.
   */
  const program = `
    const [folder, place, when] = process.argv.slice(1);
    const { localDynamoDb, createTable } = await import('${root}/infra/local/dynamodb.ts');
    const { startEmbeddedStore } = await import('${root}/infra/local/embedded-store.ts');
    const { PutItemCommand, TransactWriteItemsCommand } = await import('@aws-sdk/client-dynamodb');
    const { url } = await startEmbeddedStore({ path: folder });
    const client = localDynamoDb(url);
    await createTable(client, 'test');
    const item = (sk, text) => ({ pk: { S: 'a' }, sk: { S: sk }, text: { S: text } });
    const { text, ...Key } = item('old', '');
    for (const Item of [item('changed', 'before'), item('old', 'before')])
      await client.send(new PutItemCommand({ TableName: 'test', Item }));
    const { apply } = Reflect;
    let calls = 0;
    Reflect.apply = (serve, that, [request, response]) => {
      const isIt = calls++ === Number(place);
      const kill = () => process.kill(process.pid, 'SIGKILL');
      if (isIt && when === 'before') kill();
      if (isIt && when === 'after') response.end = kill;
      return apply(serve, that, [request, response]);
    };
    const Put = (Item) => ({ Put: { TableName: 'test', Item } });
    await client.send(new TransactWriteItemsCommand({
      TransactItems: [Put(item('new', 'after')), Put(item('changed', 'after')), { Delete: { TableName: 'test', Key } }],
    }));
    process.stdout.write('done');
    process.exit();
  `;

  test('has all of it or nothing when it is started again', async () => {
    let texts: (string | undefined)[] = [];
    const seen = new Set<string>();
    let isDone = false;
    for (let place = 0; !isDone; place += 1) {
      for (const when of ['before', 'after']) {
        const folder = await mkdtemp(join(tmpdir(), 'killed-store-'));
        const args = [
          '--input-type=module',
          '--no-warnings',
          '-e',
          program,
          folder,
          String(place),
          when,
        ];
        const { stdout } = await run(process.execPath, args, { cwd: root }).catch(() => ({
          stdout: '',
        }));
        isDone ||= stdout === 'done';
        const store = await startEmbeddedStore({ path: folder });
        const client = localDynamoDb(store.url);
        texts = [];
        for (const sk of ['new', 'changed', 'old', 'JOURNAL']) {
          const pk = sk === 'JOURNAL' ? 'LOCAL_TRANSACTION' : 'a';
          const Key = { pk: { S: pk }, sk: { S: sk } };
          const { Item } = await client.send(new GetItemCommand({ TableName: 'test', Key }));
          texts.push(Item && (Item.text?.S ?? 'an item'));
        }
        client.destroy();
        await store.close();
        await rm(folder, { recursive: true });
        seen.add(JSON.stringify(texts));
      }
    }
    expect([...seen].toSorted()).toEqual(
      [
        [undefined, 'before', 'before', undefined],
        ['after', 'after', undefined, undefined],
      ]
        .map((one) => JSON.stringify(one))
        .toSorted(),
    );
  });
});
