import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { pageFiles } from './page-files.ts';

const root = join(import.meta.dirname, '../../..');

// Writes the page as static files, for any web server. It shows the API and sends nothing: the API takes no
// requests from other origins, and a client's secret has no place in a browser.
new Command('npm run docs --')
  .description('Writes the page that shows the API as static files.')
  .argument('[folder]', 'where to', join(root, 'docs-site'))
  .option('--server <url>', 'the base address of the API, as the page shows it')
  .action((folder: string, { server }: { server?: string }) => {
    const { servers: _, ...document } = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));
    const served = { ...document, servers: server === undefined ? undefined : [{ url: server }] };
    const files = {
      ...pageFiles({ document: 'openapi.json' }),
      'openapi.json': JSON.stringify(served, null, 2),
    };
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    process.stdout.write(`The page is in ${folder}.\n`);
  })
  .parse();
