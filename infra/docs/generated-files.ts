import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { logReasons } from '../../lib/foundation/reasons.ts';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import { logEvents } from '../../lib/log/events.ts';
import { metrics } from '../../lib/log/metrics.ts';
import { readFunctions, routeKeyOf } from '../endpoints.ts';
import { version } from '../version.ts';
import { eventOf } from './event-file.ts';
import { eventSchemas, publishedEventsRows } from './event-schemas.ts';
import { exampleRequests } from './example-requests.ts';
import { apiDocument, tags } from './openapi/document.ts';
import { providerTables } from './provider-tables.ts';
import { roomRows } from './rooms.ts';

/** The endpoints of a group: the token first, then from general to particular, and what deletes last. */
function inOrderOfUse(endpoints: AnyEndpoint[]): AnyEndpoint[] {
  const placeOf = ({ method, path }: AnyEndpoint): number =>
    (method === 'DELETE' ? 100 : 0) + (path.endsWith('/token') ? 0 : path.split('/').length);
  return endpoints.sort((a, b) => placeOf(a) - placeOf(b) || (a.path < b.path ? -1 : 1));
}

/** Everything that is generated from the code, by file: whole files, and pages with generated blocks. */
export async function generatedFiles(root: string): Promise<Map<string, string>> {
  const { endpoints } = await readFunctions();
  const files = new Map<string, string>();
  for (const [key, endpoint] of endpoints) {
    files.set(`test/events/${key}.json`, lineByField(eventOf(endpoint)));
  }
  files.set('lib/release/examples.json', lineByField(exampleRequests(endpoints)));
  files.set('docs/openapi.json', `${JSON.stringify(apiDocument(endpoints, version), null, 2)}\n`);
  files.set('docs/event-schemas.json', `${JSON.stringify(eventSchemas(), null, 2)}\n`);
  const blocks: Record<string, Record<string, string>> = {
    'README.md': {
      endpoints: table(
        ['Group', 'Endpoints'],
        tags.map(({ name, description }) => [
          `**${name}.** ${description}`,
          inOrderOfUse([...endpoints.values()].filter(({ tag }) => tag === name))
            .map((endpoint) => `\`${routeKeyOf(endpoint)}\``)
            .join('<br>'),
        ]),
      ),
      rooms: table(['Room', 'Owns'], roomRows(root)),
    },
    'docs/providers.md': Object.fromEntries(
      Object.entries(providerTables()).map(([name, [head, rows]]) => [name, table(head, rows)]),
    ),
    'docs/events.md': {
      'published-events': table(['Type', 'Published when', 'Fields of its own'], publishedEventsRows()),
    },
    'docs/watching.md': {
      events: table(
        ['Event', 'Written when', 'Its own fields'],
        Object.entries(logEvents).map(([event, { when, fields }]) => [
          `\`${event}\``,
          when,
          Object.entries(fields)
            .map(([name, { text }]) => `\`${name}\`: ${text}`)
            .join('; '),
        ]),
      ),
      reasons: table(
        ['Reason', 'Meaning'],
        Object.entries(logReasons).map(([reason, meaning]) => [`\`${reason}\``, meaning]),
      ),
      metrics: table(
        ['Metric', 'Line', 'By'],
        Object.entries(metrics).map(([event, { name, by }]) => [
          `\`${name}\``,
          `\`${event}\``,
          by.join(', '),
        ]),
      ),
    },
  };
  for (const [file, texts] of Object.entries(blocks)) {
    const page = readFileSync(join(root, file), 'utf8');
    files.set(file, Object.entries(texts).reduce(withBlock, page));
  }
  return files;
}

/** A page with the block between `<!-- NAME:begin -->` and `<!-- NAME:end -->` replaced. @throws Error when it has no such block */
function withBlock(page: string, [name, text]: [string, string]): string {
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

const row = (cells: string[]): string => `| ${cells.join(' | ')} |`;

const table = (head: string[], rows: string[][]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
