import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { bundling } from '../../infra/stack/bundling.ts';
import { accesses, root } from '../support/template.ts';

/** What a function's bundle imports when it is loaded, besides Node's own modules. */
async function importedAtStart(key: string, externalModules: string[] = []) {
  const { metafile } = await build({
    entryPoints: [join(root, `functions/${key}.ts`)],
    bundle: true,
    format: 'esm',
    platform: 'node',
    mainFields: bundling.mainFields ?? [],
    external: externalModules,
    metafile: true,
    write: false,
  });
  return Object.values(metafile.outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ kind, path }) => kind === 'import-statement' && !isBuiltin(path))
    .map(({ path }) => path);
}

/** Those of which the stack bundles the module of event streams too. */
const withEventStreams = ['check-new-versions', 'forward-audit'];

test.each(accesses)('%s can be loaded from its bundle alone', async (key) => {
  const externalModules = withEventStreams.includes(key) ? [] : bundling.externalModules;
  expect(await importedAtStart(key, externalModules)).toEqual([]);
});
