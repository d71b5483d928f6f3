import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { pageFiles } from './page-files.ts';

const root = join(import.meta.dirname, '../../..');

/** @throws InvalidArgumentError when the text is no address of a website */
function webAddress(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  throw new InvalidArgumentError('It must be an address such as https://login.example.com.');
}

// Writes the page as static files, for any web server. It shows the API and sends nothing: the API takes no
// requests from other origins, and a client's secret has no place in a browser.
new Command('npm run docs --')
  .description('Writes the page that shows the API as static files.')
  .argument('[folder]', 'where to', join(root, 'docs-site'))
  .option('--server <url>', 'the base address of the API, as the page shows it', webAddress)
  .action((folder: string, { server }: { server?: string }, command: Command) => {
    const { servers: _, ...document } = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));
    const served = { ...document, servers: server === undefined ? undefined : [{ url: server }] };
    const files = pageFiles({ document: 'openapi.json' });
    try {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'openapi.json'), `${JSON.stringify(served, null, 2)}\n`);
      for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    } catch (error) {
      const why = error instanceof Error ? error.message : error;
      command.error(`The page cannot be written to ${folder} (${why}). Name a folder that you can write to.`);
    }
    process.stdout.write(`The page is in ${folder}.\n`);
  })
  .parse();
