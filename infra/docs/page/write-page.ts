import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command } from 'commander';
import { pageFiles } from './page-files.ts';

const root = join(import.meta.dirname, '../../..');

// The page shows the API and sends nothing: the API takes no requests from other origins, and a client's secret has no place
// in a browser.
new Command('npm run docs --')
  .description('Writes the page that shows the API as static files.')
  .argument('[folder]', 'where to', join(root, 'docs-site'))
  .option('--server <url>', 'the base address of the API, as the page shows it')
  .action((folder: string, { server }: { server?: string }) => {
    const { servers: _, ...document } = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));
    if (server !== undefined) document.servers = [{ url: server }];
    const files = pageFiles(false).set('openapi.json', JSON.stringify(document, null, 2));
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of files) writeFileSync(join(folder, name), text);
    process.stdout.write(`The page is in ${folder}.\n`);
  })
  .parse();
