import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { Template } from 'aws-cdk-lib/assertions';
import { stackWith, template, templateWith, withEdge } from '../support/template.ts';

const pages = [
  'README.md',
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(path, 'utf8') }));

const { edge } = stackWith(withEdge);
const outputs = new Set(
  [template, templateWith(withEdge), ...(edge ? [Template.fromStack(edge)] : [])].flatMap((one) =>
    Object.keys(one.findOutputs('*')),
  ),
);

/** The output that a page sets a variable from: by `output NAME`, or by a query of its own. */
const outputOf = (variable: string, text: string): string | undefined =>
  new RegExp(
    `${variable}=\\$\\((?:output (\\w+)\\)|aws cloudformation describe-stacks [^)]*?OutputKey=='(\\w+)')`,
    's',
  )
    .exec(text)
    ?.slice(1)
    .find(Boolean);

test('each variable of an ARN is set from an output of the stack, on the page that uses it', () => {
  const used = pages.flatMap(({ path, text }) =>
    [...new Set(text.match(/(?<=\$)\w+_ARN\b/g))].map((variable) => ({
      path,
      variable,
      set: outputs.has(outputOf(variable, text) ?? ''),
    })),
  );
  expect(used.length).toBeGreaterThanOrEqual(4);
  expect(used.filter(({ set }) => !set)).toEqual([]);
});

test('each output that a page asks for is one of the stack', () => {
  const asked = pages.flatMap(({ text }) =>
    [...text.matchAll(/OutputKey=='(\w+)'|\(output (\w+)\)/g)].map(([, query, name]) => query ?? name ?? ''),
  );
  expect(asked).toEqual(expect.arrayContaining(['SigningKeysSecretArn', 'TableName']));
  expect(asked.filter((name) => !outputs.has(name))).toEqual([]);
});

test('each cdk deploy with settings names its deployment, but for a trial', () => {
  const lines = pages
    // The changelog says what was.
    .filter(({ path }) => path !== 'docs/CHANGELOG.md')
    .flatMap(({ path, text }) => text.split('\n').map((line) => `${path}: ${line}`));
  const deploying = lines.filter((line) => /npx cdk deploy/.test(line));
  const without = deploying.filter((line) => !line.includes('-c deployment='));
  expect(deploying.length).toBeGreaterThan(10);
  expect(without).toEqual(['docs/settings.md: npx cdk deploy -c stack=login-trial -c stage=development']);
});
