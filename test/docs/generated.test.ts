import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { generatedFiles } from '../../infra/docs/generated-files.ts';

const generated = generatedFiles();

const foldersIn = (parent: string): string[] =>
  readdirSync(parent, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${parent}/${name}`);

test.each([...generated])('%s is what npm run generate writes', (file, text) => {
  if (!existsSync(file)) throw new Error(`There is no ${file}. Run npm run generate.`);
  // Of lines, jest prints the difference; of a long text, all of it.
  expect(readFileSync(file, 'utf8').split('\n')).toEqual(text.split('\n'));
});

test('every event file belongs to an endpoint', () => {
  const others = globSync('test/events/*.json').filter((file) => !generated.has(file));
  expect(others.map((file) => `${file} belongs to no endpoint. Run npm run generate.`)).toEqual([]);
});

test('the README has a row for each room, which opens with its own paragraph', () => {
  const folders = ['functions', ...foldersIn('infra'), ...foldersIn('lib')];
  const readme = readFileSync('README.md', 'utf8');
  const missing = folders.filter((folder) => !readme.includes(`| [\`${folder}/\`](${folder}/) | `));
  expect(missing).toEqual([]);
});

test('npm run generate needs no API document to start from, and writes nothing when it fails', async () => {
  const copy = mkdtempSync(join(tmpdir(), 'generate-'));
  for (const path of [
    'package.json',
    'README.md',
    'docs',
    'functions',
    'infra',
    'lib',
    'test/events',
  ])
    cpSync(path, join(copy, path), { recursive: true });
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));
  const env = { ...process.env, NODE_OPTIONS: '' };
  const generate = () =>
    promisify(execFile)(process.execPath, ['infra/docs/generate.ts'], { cwd: copy, env });
  const document = join(copy, 'docs/openapi.json');
  const readme = join(copy, 'README.md');
  try {
    const conflict = '<<<<<<< HEAD\n{}\n';
    writeFileSync(document, conflict);
    const page = readFileSync(readme, 'utf8');
    writeFileSync(readme, '');
    await expect(generate()).rejects.toThrow('A page lacks its block');
    expect(readFileSync(document, 'utf8')).toBe(conflict);
    writeFileSync(readme, page);
    await generate();
    expect(readFileSync(document, 'utf8') === generated.get('docs/openapi.json')).toBe(true);
  } finally {
    rmSync(copy, { recursive: true });
  }
});
