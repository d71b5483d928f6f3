import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { execa } from 'execa';
import { scratchFolder } from '../support/own-service.ts';
import { unique } from '../support/service.ts';

const project = process.cwd();

/** A folder of somebody's own, outside of the project, where they type. */
const caller = scratchFolder();

/** Runs a script of the project from another folder, as one does with several clones. */
const npm = (script: string, words: string[], env: Record<string, string> = {}) =>
  execa('npm', ['--prefix', project, 'run', '-s', script, '--', ...words], {
    cwd: caller,
    env: { NODE_OPTIONS: '', LOCAL_DIR: process.env.SERVICE_DIR ?? '', ...env },
    reject: false,
  });
const operator = (...words: string[]) => npm('operator', [...words, '--local']);

describe('files that are named from another folder than that of the project', () => {
  test('a secret is written to the folder of the caller, and the answer says where', async () => {
    const { stdout, stderr } = await operator(
      'accounts',
      'create',
      '--name',
      unique('a'),
      '--secret-to',
      'a.txt',
    );
    expect(stderr).toBe('');
    const file = join(caller, 'a.txt');
    expect(JSON.parse(stdout)).toMatchObject({ account_secret_file: file });
    expect(readFileSync(file, 'utf8')).toMatch(/^acs_/);
    expect(readdirSync(project)).not.toContain('a.txt');
    const again = await operator('accounts', 'create', '--name', 'a', '--secret-to', 'a.txt');
    expect(again).toMatchObject({
      exitCode: 1,
      stderr: `--secret-to: the file ${file} exists already.`,
    });
  });

  test('lines, maps of ids and settings are read and written there, too', async () => {
    const { stdout: created } = await operator('accounts', 'create', '--name', unique('a'));
    writeFileSync(join(caller, 'lines.ndjson'), '{"id": 1}\n');
    const flags = ['--account', JSON.parse(created).account_id, '--ids-to', 'ids.ndjson'];
    const { stdout } = await operator('access-requests', 'import', 'lines.ndjson', ...flags);
    expect(JSON.parse(stdout)).toMatchObject({ added: 1, ids_file: join(caller, 'ids.ndjson') });
    expect(readFileSync(join(caller, 'ids.ndjson'), 'utf8')).toMatch(/^\{"id":"1",/);
    const missing = await operator('events', 'import', 'none.ndjson');
    expect(missing.stderr).toBe(`The file ${join(caller, 'none.ndjson')} cannot be read.`);
    const settings = ['--login-app', 'la_x', '--provider', 'provider_a', '--settings', 'none.json'];
    expect((await operator('providers', 'set', ...settings)).stderr).toBe(
      `--settings: the file ${join(caller, 'none.json')} cannot be read.`,
    );
  });

  test('the page about the API is written there', async () => {
    const { stdout } = await npm('docs', ['site', '--server', 'https://login.example.com']);
    expect(stdout).toBe(`The page is in ${join(caller, 'site')}.`);
    const { servers } = JSON.parse(readFileSync(join(caller, 'site', 'openapi.json'), 'utf8'));
    expect(servers).toEqual([{ url: 'https://login.example.com' }]);
  });

  test('npm start finds its files there', async () => {
    writeFileSync(join(caller, 'hook.mjs'), 'export const hander = () => ({});\n');
    mkdirSync(join(caller, 'data'));
    writeFileSync(join(caller, 'data', 'mine'), '');
    const start = async (name: string, value: string) => {
      const { stderr } = await npm('start', [], { PORT: '0', LOCAL_DIR: 'files', [name]: value });
      return stderr;
    };
    expect(await start('LOGIN_HOOK', './hook.mjs')).toContain('exports no function named handler');
    expect(await start('LOCAL_DATA', 'data')).toContain(
      `LOCAL_DATA=${join(caller, 'data')} holds other files`,
    );
    expect(await start('JOIN', 'other')).toContain(
      `JOIN=${join(caller, 'other')} has the files of no stack`,
    );
    expect(readdirSync(caller)).toContain('files');
  });
});

describe('npm run docs: one line, and no stack trace', () => {
  test.each([
    ['/etc/hostname', 'The page cannot be written to /etc/hostname (ENOTDIR: '],
    ['/proc/page', 'The page cannot be written to /proc/page (ENOENT: '],
  ])('for the folder %s', async (folder, line) => {
    const { exitCode, stderr } = await npm('docs', [folder]);
    expect({ exitCode, lines: stderr.split('\n') }).toEqual({
      exitCode: 1,
      lines: [expect.any(String)],
    });
    expect(stderr.startsWith(line)).toBe(true);
  });

  test('for a server that is no address', async () => {
    const { exitCode, stderr } = await npm('docs', ['site', '--server', 'foo']);
    expect(exitCode).toBe(1);
    expect(stderr).toBe(
      "error: option '--server <url>' argument 'foo' is invalid. It must be an address such as https://login.example.com.",
    );
  });
});

test.each(['operating', 'importing', 'phones', 'production'])(
  'the op of the page %s says something in a folder without the project',
  async (page) => {
    const [lines = ''] =
      readFileSync(`docs/${page}.md`, 'utf8').match(/^op\(\) \{\n.*?^\}$/ms) ?? [];
    const op = `${lines}\nop accounts list`;
    expect(await execa('sh', ['-c', op], { cwd: caller, reject: false })).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: "Run op in the project's folder.",
    });
  },
);
