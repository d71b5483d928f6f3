import { readFileSync } from 'node:fs';
import { publishedEvents } from '../../lib/publishing/published-events.ts';
import { readFunctions } from '../endpoints.ts';
import { version } from '../version.ts';
import { exampleEvent, exampleRequests } from './event-file.ts';
import { functionIndex, functionIndexFile } from './function-index.ts';
import { apiDocument } from './openapi/document.ts';
import { jsonSchemaOf, mapValues } from './openapi/json-schema.ts';
import { type Table, tables } from './tables.ts';

/**
 * Contents of all generated files, and pages with tables, by path from the folder of the project,
 * in which it runs.
 */
export function generatedFiles(): Map<string, string> {
  const { endpoints } = readFunctions();
  const files = new Map([[functionIndexFile, functionIndex()]]);
  for (const [key, endpoint] of endpoints) {
    files.set(`test/events/${key}.json`, lineByField(exampleEvent(endpoint)));
  }
  files.set('lib/release/examples.json', lineByField(exampleRequests(endpoints)));
  files.set('docs/openapi.json', `${JSON.stringify(apiDocument(endpoints, version), null, 2)}\n`);
  files.set('docs/event-schemas.json', `${JSON.stringify(eventSchemas(), null, 2)}\n`);
  for (const [file, blocks] of Object.entries(tables([...endpoints.values()]))) {
    files.set(file, Object.entries(blocks).reduce(withBlock, readFileSync(file, 'utf8')));
  }
  return files;
}

const eventSchemas = () => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Published events',
  description: 'The detail of each published event, by its detail-type.',
  $defs: mapValues(publishedEvents, ({ when, detail }) => ({
    description: when,
    ...jsonSchemaOf(detail, new Map()),
  })),
});

/**
 * Replaces the block between `<!-- NAME:begin -->` and `<!-- NAME:end -->` of a page.
 * @throws Error if it has no such block
 */
function withBlock(page: string, [name, [head, rows]]: [string, Table]): string {
  const text = [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
  const block = new RegExp(`(<!-- ${name}:begin -->\n).*(\n<!-- ${name}:end -->)`, 's');
  if (!block.test(page)) throw new Error(`A page lacks its block ${name}.`);
  return page.replace(block, (_, begin, end) => begin + text + end);
}

/** JSON with one line for each field of the outermost object. */
function lineByField(value: object): string {
  const fields = Object.entries(value).map(([name, one]) => `  "${name}": ${JSON.stringify(one)}`);
  return `{\n${fields.join(',\n')}\n}\n`;
}
