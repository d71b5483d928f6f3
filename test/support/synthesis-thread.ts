import { createHash } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parentPort } from 'node:worker_threads';
import { hashOfFiles, localDirectory } from '../../infra/local/local-files.ts';
import { readBody, serve } from '../../infra/local/loopback-server.ts';

/**
 * Synthesizes each deployment once for all test files, outside of jest's module loader, where the
 * CDK loads in half the time. Posts its address, and answers `POST { settings, moreContext }` with
 * the stacks, or with 422 and the error message.
 */
const answers = new Map<string, Promise<{ status: number; text: string }>>();

/** All that a template is made of. What was made of the same is kept for later runs. */
const sources = [
  '{functions,infra,lib}/**/*.ts',
  'test/support/synthesize.ts',
  'cdk.json',
  'package*.json',
];
const version = hashOfFiles(sources);
const kept = join(localDirectory('templates'), version);
if (!existsSync(kept)) rmSync(localDirectory('templates'), { recursive: true });

async function answer(request: string): Promise<{ status: number; text: string }> {
  const file = join(
    kept,
    `${createHash('sha256').update(request).digest('hex').slice(0, 16)}.json`,
  );
  if (existsSync(file)) return { status: 200, text: readFileSync(file, 'utf8') };
  const { settings, moreContext } = JSON.parse(request);
  const { synthesize } = await import('./synthesize.ts');
  try {
    const text = JSON.stringify(synthesize(settings, moreContext));
    // Another run may read it, or have begun with other code.
    writeFileSync(join(localDirectory('templates', version), `${process.pid}.new`), text);
    renameSync(join(kept, `${process.pid}.new`), file);
    return { status: 200, text };
  } catch (error) {
    return { status: 422, text: error instanceof Error ? error.message : String(error) };
  }
}

const { url } = await serve(async (request, response) => {
  const key = (await readBody(request)).toString();
  const made = answers.get(key) ?? answer(key);
  answers.set(key, made);
  const { status, text } = await made;
  response.writeHead(status).end(text);
});
parentPort?.postMessage(url);
