import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { bundling } from '../../infra/stack/bundling.ts';
import { accesses, root } from '../support/template.ts';

/** What a function's bundle imports when it is loaded, besides Node's own modules. */
async function importedAtStart(key: string) {
  // What the CDK leaves to the runtime's SDK, unless it is told otherwise.
  const { mainFields = [], externalModules = ['@aws-sdk/*', '@smithy/*'], esbuildArgs = {} } = bundling;
  const { metafile } = await build({
    entryPoints: [join(root, `functions/${key}.ts`)],
    bundle: true,
    external: externalModules,
    format: 'esm',
    platform: 'node',
    mainFields,
    alias: Object.fromEntries(
      Object.entries(esbuildArgs).map(([flag, file]) => [flag.replace('--alias:', ''), String(file)]),
    ),
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
