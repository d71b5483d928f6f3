import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PutItemCommand, paginateScan } from '@aws-sdk/client-dynamodb';
import { createTable, localDynamoDb } from '../../infra/local/dynamodb.ts';
import type { Left } from './left.ts';

/** The kept dump: the items of a table, the other files of its `LOCAL_DATA`, and what was left in the hands of clients. */
const kept = join(import.meta.dirname, 'dump');
const files = {
  table: join(kept, 'table.jsonl'),
  data: join(kept, 'data'),
  left: join(kept, 'left.json'),
  answers: join(kept, 'answers.jsonl'),
};

const linesOf = (file: string): string[] => readFileSync(file, 'utf8').trimEnd().split('\n');
const writeLines = (file: string, lines: string[]): void => writeFileSync(file, `${lines.join('\n')}\n`);

/** Keeps a dump, in the place of the one before. @param folder as of `LOCAL_DATA` */
export async function keepDump(dynamoDbEndpoint: string, folder: string, left: Left): Promise<void> {
  const { answers, ...others } = left;
  rmSync(kept, { recursive: true, force: true });
  mkdirSync(files.data, { recursive: true });
  const items: string[] = [];
  const TableName = left.demo.table_name;
  for await (const page of paginateScan({ client: localDynamoDb(dynamoDbEndpoint) }, { TableName }))
    for (const { pk, sk, ...item } of page.Items ?? []) items.push(JSON.stringify({ pk, sk, ...item }));
  writeLines(files.table, items.sort());
  const asked = Object.entries(answers).map((one) => JSON.stringify(one));
  writeLines(files.answers, asked);
  writeFileSync(files.left, `${JSON.stringify(others, null, 2)}\n`);
  for (const file of globSync('*.json', { cwd: folder, exclude: ['stack.json'] }))
    cpSync(join(folder, file), join(files.data, file));
}

/** The table of the dump, made anew in a store, and its other files in a folder. */
export async function restoreDump(dynamoDbEndpoint: string, folder: string): Promise<Left> {
  const others: Omit<Left, 'answers'> = JSON.parse(readFileSync(files.left, 'utf8'));
  const answers = Object.fromEntries(linesOf(files.answers).map((line) => JSON.parse(line)));
  const client = localDynamoDb(dynamoDbEndpoint);
  const TableName = others.demo.table_name;
  await createTable(client, TableName);
  for (const line of linesOf(files.table))
    await client.send(new PutItemCommand({ TableName, Item: JSON.parse(line) }));
  client.destroy();
  cpSync(files.data, folder, { recursive: true });
  return { ...others, answers };
}
