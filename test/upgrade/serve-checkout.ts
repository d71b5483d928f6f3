import crypto, { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import * as v from 'valibot';

/**
 * Serves a table on DynamoDB Local with the code of a checkout, which may be another version's: only what local stacks
 * have long had is used of it. The folder is one of `LOCAL_DATA`: it keeps the secrets, the ports and the demo.
 */
const given = v.object({
  /** The folder of the checkout. */
  root: v.string(),
  folder: v.string(),
  dynamoDbEndpoint: v.string(),
  /** Of the API and of the sandbox, for a folder that is empty. */
  ports: v.tuple([v.number(), v.number()]),
});
const { root, folder, dynamoDbEndpoint, ports } = v.parse(given, JSON.parse(process.argv[2] ?? ''));
const load = (file: string) => import(join(root, file));

// A sandbox makes a secret for each app at its start. Stored provider settings hold those of the start before.
const { randomBytes } = crypto;
Object.assign(crypto, {
  randomBytes: (size: number) => (size === 24 ? Buffer.alloc(24, 7) : randomBytes(size)),
});
syncBuiltinESMExports();

process.env.LOG_LEVEL ??= 'ERROR';
const { startStack, rotateServiceSecrets } = await load('infra/local/stack.ts');
const { openLocalData, portOf } = await load('infra/local/local-data.ts');
const { createTable, localDynamoDb } = await load('infra/local/dynamodb.ts');
const { seedDemo } = await load('infra/local/demo.ts');

const isFirst = openLocalData(folder).saved === undefined;
if (isFirst) {
  const [url, sandbox_url] = ports.map((port) => `http://127.0.0.1:${port}`);
  const table_name = `upgrade-${randomUUID()}`;
  await createTable(localDynamoDb(dynamoDbEndpoint), table_name);
  openLocalData(folder).save({ url, sandbox_url, table_name, stopped: true, demo: {} });
}
const data = openLocalData(folder);
const port = portOf(data.saved.url);
const stack = await startStack({ port, dynamoDbEndpoint, data, report: () => {} });
Object.assign(crypto, { randomBytes });
syncBuiltinESMExports();
if (isFirst) await rotateServiceSecrets(stack.awsEndpoint);
const demo = isFirst ? await seedDemo(stack) : data.saved.demo;
const { url, tableName: table_name, sandbox } = stack;
// As after a stop: this process is killed, and the table stays.
data.save({ url, sandbox_url: sandbox.url, table_name, stopped: true, demo });
writeFileSync(join(folder, 'stack.json'), JSON.stringify({ url, aws_endpoint: stack.awsEndpoint }));
process.stdout.write('Serving\n');
