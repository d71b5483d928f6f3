import { isBuiltin } from 'node:module';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { bundling } from '../../infra/stack/bundling.ts';
import { accesses, endpoints, root } from '../support/template.ts';

/** What a function's bundle imports when it is loaded, besides Node's own modules, and the parsers of bodies that it holds. */
async function bundleOf(key: string) {
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
  const outputs = Object.values(metafile.outputs);
  const files = outputs.flatMap(({ inputs }) => Object.entries(inputs));
  return {
    imported: outputs
      .flatMap(({ imports }) => imports)
      .filter(({ kind, path }) => kind === 'import-statement' && !isBuiltin(path))
      .map(({ path }) => path),
    parsers: files
      .filter(([path, { bytesInOutput }]) => path.includes('body-parser') && bytesInOutput > 0)
      .map(([path]) => path.split('/').at(-2)),
  };
}

const parsers = {
  'application/json': ['http-json-body-parser'],
  'application/x-www-form-urlencoded': ['http-urlencode-body-parser'],
};

test.each(accesses)(
  '%s can be loaded from its bundle alone, which holds no parser that it does not use',
  async (key) => {
    const { body } = endpoints.get(key) ?? {};
    expect(await bundleOf(key)).toEqual({ imported: [], parsers: body ? parsers[body.contentType] : [] });
  },
);
