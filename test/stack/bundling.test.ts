import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { bundlingFor } from '../../infra/stack/bundling.ts';
import { accesses, root } from '../support/template.ts';

/** What a function's bundle imports when it is loaded, besides Node's own modules. */
async function importedAtStart(key: string) {
  const { mainFields = [], externalModules = [] } = bundlingFor(key);
  const { metafile } = await build({
    entryPoints: [join(root, `functions/${key}.ts`)],
    bundle: true,
    format: 'esm',
    platform: 'node',
    mainFields,
    external: externalModules,
    metafile: true,
    write: false,
  });
  return Object.values(metafile.outputs)
    .flatMap(({ imports }) => imports)
    .filter(({ kind, path }) => kind === 'import-statement' && !isBuiltin(path))
    .map(({ path }) => path);
}

test.each(accesses)('%s can be loaded from its bundle alone', async (key) => {
  expect(await importedAtStart(key)).toEqual([]);
});
