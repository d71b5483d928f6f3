import { isBuiltin } from 'node:module';
import { basename } from 'node:path';
import { expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { readFunctions } from '../../infra/endpoints.ts';
import type { Access } from '../../lib/http/endpoint.ts';
import { bundleOptions } from '../support/bundle-options.ts';

const { endpoints, others } = readFunctions();
const accesses: [string, Access][] = [...endpoints, ...others];

const { metafile, outputFiles } = await build({
  ...bundleOptions,
  entryPoints: accesses.map(([key]) => `functions/${key}.ts`),
  outdir: 'bundles',
  metafile: true,
  write: false,
});
const bundles = new Map(
  Object.entries(metafile.outputs).map(([file, output]) => [basename(file, '.js'), output]),
);

const texts = new Map(outputFiles.map(({ path, text }) => [basename(path, '.js'), text]));

const parsers = {
  'application/json': ['http-json-body-parser'],
  'application/x-www-form-urlencoded': ['http-urlencode-body-parser'],
  'application/secevent+jwt': [],
};

test.each(accesses)(
  '%s can be loaded from its bundle alone, which holds no parser that it does not use',
  (key) => {
    const { imports = [], inputs = {} } = bundles.get(key) ?? {};
    // Node's own modules are there.
    const imported = imports.filter(
      ({ kind, path }) => kind === 'import-statement' && !isBuiltin(path),
    );
    expect(Object.keys(inputs)).toContain(`functions/${key}.ts`);
    expect(imported).toEqual([]);
    const held = Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
      path.includes('body-parser') && bytesInOutput > 0 ? [path.split('/').at(-2)] : [],
    );
    const { body } = endpoints.get(key) ?? {};
    const taken = body ? [body, ...(body.others ?? [])] : [];
    expect(held).toEqual(taken.flatMap(({ contentType }) => parsers[contentType]));
  },
);

// One function answers with the whole API document.
const withoutDocument = [...endpoints].filter(([key]) => key !== 'describe-api');

test.each(withoutDocument)('the bundle of %s has no document', (key, { document }) => {
  const { description, responses } = document;
  const text = texts.get(key);
  expect(text).toContain(endpoints.get(key)?.route.split(' ')[0]);
  expect(text).not.toContain(description);
  for (const response of Object.values(responses)) expect(text).not.toContain(response.description);
});

test('publishing is left to one function: no request waits for the bus or fails with it', () => {
  const publishing = [...bundles].filter(([, { inputs }]) =>
    Object.keys(inputs).some((file) => file.startsWith('lib/publishing/')),
  );
  expect(publishing.map(([key]) => key)).toEqual(['publish-events']);
});
