import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { publishedEvents } from '../../lib/publishing/published-events.ts';
import { readFunctions } from '../endpoints.ts';
import { version } from '../version.ts';
import { eventOf, exampleRequests } from './event-file.ts';
import { apiDocument } from './openapi/document.ts';
import { jsonSchemaOf } from './openapi/json-schema.ts';
import { type Table, tables } from './tables.ts';

/** Everything that is generated from the code, by file: whole files, and pages with generated tables. */
export function generatedFiles(root: string): Map<string, string> {
  const { endpoints } = readFunctions();
  const files = new Map<string, string>();
  for (const [key, endpoint] of endpoints) {
    files.set(`test/events/${key}.json`, lineByField(eventOf(endpoint)));
  }
  files.set('lib/release/examples.json', lineByField(exampleRequests(endpoints)));
  files.set('docs/openapi.json', `${JSON.stringify(apiDocument(endpoints, version), null, 2)}\n`);
  files.set('docs/event-schemas.json', `${JSON.stringify(eventSchemas(), null, 2)}\n`);
  for (const [file, blocks] of Object.entries(tables(root, endpoints))) {
    const page = readFileSync(join(root, file), 'utf8');
    files.set(file, Object.entries(blocks).reduce(withBlock, page));
  }
  return files;
}

const eventSchemas = () => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Published events',
  description: 'The detail of each published event, by its detail-type.',
  $defs: Object.fromEntries(
    Object.entries(publishedEvents).map(([type, { when, detail }]) => [
      type,
      { description: when, ...jsonSchemaOf(detail, new Map()) },
    ]),
  ),
});

/** A page with the block between `<!-- NAME:begin -->` and `<!-- NAME:end -->` replaced. @throws Error when it has no such block */
function withBlock(page: string, [name, [head, rows]]: [string, Table]): string {
  const text = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`A page lacks its block ${name}.`);
  return `${before}${begin}\n${text}\n${end}${after}`;
}

/** JSON with one line for each field of the outermost object: an event then fits on a screen. */
function lineByField(value: object): string {
  const fields = Object.entries(value).map(([name, one]) => `  "${name}": ${JSON.stringify(one)}`);
  return `{\n${fields.join(',\n')}\n}\n`;
}

// Writes every generated file. A test fails while one is out of date.
if (import.meta.main) {
  const root = join(import.meta.dirname, '../..');
  const files = generatedFiles(root);
  for (const file of globSync('test/events/*.json', { cwd: root })) {
    if (!files.has(file)) rmSync(join(root, file));
  }
  for (const [file, text] of files) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
}
