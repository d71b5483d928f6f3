import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename } from 'node:path';
import { expect, test } from '@jest/globals';
import { parseSync } from '@swc/core';
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

/** Properties with texts that describe messages, and make none. */
const describing = new Set(['document', 'when', 'example']);

/** The texts in a syntax tree, each in the parts between which it has values. */
function textsIn(tree: unknown): string[][] {
  if (!(tree instanceof Object)) return [];
  const node = new Map<string, unknown>(Object.entries(tree));
  const { value: name } = Object(node.get('key'));
  if (node.get('type') === 'KeyValueProperty' && describing.has(name)) return [];
  if (node.get('type') === 'StringLiteral') return [[String(node.get('value'))]];
  const { quasis = [] } = Object(tree);
  const own = quasis.length > 0 ? [quasis.map(({ cooked }: { cooked: string }) => cooked)] : [];
  return [...own, ...[...node.values()].flatMap(textsIn)];
}

/** The messages that a file makes, with anything in place of values. */
function messagesOf(file: string): RegExp[] {
  const tree = parseSync(readFileSync(file, 'utf8'), { syntax: 'typescript', target: 'es2024' });
  // A shorter one, such as a list with commas, would match any message.
  const texts = textsIn(tree.body).filter((parts) => parts.join('').length >= 10);
  return texts.map((parts) => new RegExp(`^${parts.map(RegExp.escape).join('.+')}$`, 's'));
}

const messages = new Map<string, RegExp[]>();

test.each([...endpoints])(
  '%s can answer with each error that its document shows',
  (key, record) => {
    const { authenticate, document } = record;
    const { error, furtherErrors = {} } = authenticate;
    const errors = [
      ...Object.values({ ...furtherErrors, ...document.errors }),
      ...(error ? [error] : []),
    ];
    const bundled = Object.keys(bundles.get(key)?.inputs ?? {});
    const files = bundled.filter((file) => file.startsWith('lib/') || file.endsWith(`${key}.ts`));
    for (const file of files) if (!messages.has(file)) messages.set(file, messagesOf(file));
    const possible = files.flatMap((file) => messages.get(file) ?? []);
    const impossible = errors.filter(({ example, field = '' }) => {
      // Fields of an object in the body get its name before their message.
      const object = field.slice(0, field.lastIndexOf('.') + 1);
      const message = example.replace(object, '');
      return !possible.some((one) => one.test(message));
    });
    expect(impossible).toEqual([]);
  },
);

test('publishing is left to one function: no request waits for the bus or fails with it', () => {
  const publishing = [...bundles].filter(([, { inputs }]) =>
    Object.keys(inputs).some((file) => file.startsWith('lib/publishing/')),
  );
  expect(publishing.map(([key]) => key)).toEqual(['publish-events']);
});

test('no function prepares texts of a language when it is loaded, which takes a third of the time', () => {
  const files = Object.keys(metafile.inputs).filter((file) => /^(lib|functions)\//.test(file));
  const preparing = files.filter((file) =>
    /^(export )?const \w+ = new Intl\./m.test(readFileSync(file, 'utf8')),
  );
  expect(preparing).toEqual([]);
});
