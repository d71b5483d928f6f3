import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { fromCaller } from '../../operator/files/caller-folder.ts';
import { makeFolder } from '../../operator/files/make-folder.ts';
import { pageFiles } from './page-files.ts';

const root = join(import.meta.dirname, '../../..');

/** @throws InvalidArgumentError when the text is no address of a website */
function webAddress(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  throw new InvalidArgumentError('It must be an address such as https://login.example.com.');
}

// The page shows the API and sends nothing: the API takes no requests from other origins, and a
// client's secret has no place in a browser.
new Command('npm run docs --')
  .description('Writes the page that shows the API as static files.')
  .argument('[folder]', 'where to', join(root, 'docs-site'))
  .option('--server <url>', 'the base address of the API, as the page shows it', webAddress)
  .action((named: string, { server }: { server?: string }, command: Command) => {
    const folder = fromCaller(named);
    const { servers: _, ...document } = JSON.parse(
      readFileSync(join(root, 'docs/openapi.json'), 'utf8'),
    );
    if (server !== undefined) document.servers = [{ url: server }];
    const files = pageFiles(false).set('openapi.json', JSON.stringify(document, null, 2));
    try {
      makeFolder(folder);
      for (const [name, text] of files) writeFileSync(join(folder, name), text);
    } catch (error) {
      const why = error instanceof Error ? error.message : error;
      command.error(
        `The page cannot be written to ${folder} (${why}). Name a folder that you can write to.`,
      );
    }
    process.stdout.write(`The page is in ${folder}.\n`);
  })
  .parse();
