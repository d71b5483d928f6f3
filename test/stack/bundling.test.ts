import { isBuiltin } from 'node:module';
import { basename, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { bundling } from '../../infra/stack/bundling.ts';
import { accesses, root } from '../support/template.ts';

// What the CDK leaves to the runtime's SDK, unless it is told otherwise.
const { mainFields = [], externalModules = ['@aws-sdk/*', '@smithy/*'], esbuildArgs = {} } = bundling;
const { metafile } = await build({
  entryPoints: accesses.map(([key]) => join(root, `functions/${key}.ts`)),
  outdir: 'bundles',
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
const bundles = new Map(
  Object.entries(metafile.outputs).map(([file, { imports }]) => [basename(file, '.js'), imports]),
);

test.each(accesses)('%s can be loaded from its bundle alone', (key) => {
  // Node's own modules are there.
  const imported = bundles
    .get(key)
    ?.filter(({ kind, path }) => kind === 'import-statement' && !isBuiltin(path))
    .map(({ path }) => path);
  expect(imported).toEqual([]);
});
