import { exec } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { parseCommandLine } from '../../infra/operator/parse-command-line.ts';
import { commands } from '../../lib/operator/commands/index.ts';
import { createLoginApp } from '../support/login-app.ts';
import {
  failed,
  operator,
  operatorProcessWith,
  succeeded,
  writeSettings,
} from '../support/operator.ts';
import { sharedService, unique } from '../support/service.ts';

const service = sharedService();
const { demo } = service;

describe('npm run operator: each command', () => {
  test('login-apps create, clients create and clients revoke', async () => {
    const app = await succeeded('login-apps', 'create', '--name', 'App');
    expect(app).toEqual({ login_app_id: expect.stringMatching(/^la_/) });
    const login_app_id = String(app.login_app_id);
    const created = await succeeded('clients', 'create', '--login-app', login_app_id);
    expect(created).toEqual({
      login_app_id,
      client_id: expect.stringMatching(/^la_.*\.c_/),
      client_secret: expect.stringMatching(/^lcs_/),
    });
    const client_id = String(created.client_id);
    const client = { login_app_id, client_id, client_secret: String(created.client_secret) };
    const revoke = ['clients', 'revoke', '--login-app', login_app_id, '--client', client_id];
    expect(await succeeded(...revoke)).toEqual({ login_app_id, client_id, revoked: true });
    expect((await service.token({ grant_type: 'client_credentials' }, client)).status).toBe(401);
    expect(await failed(...revoke)).toBe('The Login App has no such client; it has none.');
  });

  test('accounts rotate and revoke: the error for a third secret names the two that exist', async () => {
    const { account_id } = await succeeded('accounts', 'create', '--name', 'Back office');
    const account = ['--account', String(account_id)];
    const { old_secrets } = await succeeded('accounts', 'rotate', ...account);
    const [{ secret_id: oldest }] = Object(old_secrets);
    const message = await failed('accounts', 'rotate', ...account);
    const named = message.match(
      /^There are two secrets already \((sec_\S+), (sec_\S+)\); revoke one first\.$/,
    );
    expect(named?.slice(1)).toContain(oldest);
    const newest = named?.slice(1).find((id) => id !== oldest) ?? '';
    const revoked = await succeeded('accounts', 'revoke', ...account, '--secret', newest);
    expect(revoked).toMatchObject({ secrets: [{ secret_id: oldest }] });
  });

  test('comments add and reviews add', async () => {
    const { access_request_id } = await service.operate('access-requests', 'create', {
      account: demo.account.account_id,
    });
    const id = Number(access_request_id);
    const by = (type: string, actor: string) =>
      `--access-request ${id} --actor-type ${type} --actor-id ${actor}`.split(' ');
    const added = [
      await succeeded('comments', 'add', ...by('login_user', '1001'), '--comment', 'Have a look.'),
      await succeeded('comments', 'add', ...by('custom', '-'), '--comment='),
      await succeeded('reviews', 'add', ...by('custom', 'risk-desk'), '--status', 'rejected'),
      await succeeded(
        'reviews',
        'add',
        ...by('custom', 'x'),
        '--status=approved',
        '--comment',
        'ключ 🔑\nb',
      ),
    ];
    const found = (await service.search('', { id })).body;
    expect(found.results).toEqual(added);
    expect(added).toMatchObject([
      { id: 1, type: 'comment', actor_id: '1001', comment: 'Have a look.' },
      { id: 2, type: 'comment', actor_id: '-', comment: '' },
      { id: 3, type: 'review', comment: '', status: 'rejected' },
      { id: 4, type: 'review', comment: 'ключ 🔑\nb', status: 'approved' },
    ]);
  });

  test('events list: each event with who wrote it, which a search does not show, page by page', async () => {
    const { account_id } = demo.account;
    const { access_request_id } = await service.operate('access-requests', 'create', {
      account: account_id,
    });
    const id = Number(access_request_id);
    const operator = expect.stringMatching(/^arn:aws:/);
    const desk = { actor_type: 'custom', actor_id: 'desk', comment: 'Fine.' };
    const { body } = await service.addEvent('comments', desk, { id });
    const text = JSON.stringify({ ...desk, type: 'comment', access_request_id: id });
    const events = Array.from({ length: 100 }, (_, repetition) => ({
      line: repetition,
      text,
      repetition,
    }));
    await service.operate('events', 'import', { events });

    const page = ['events', 'list', '--access-request', String(id)];
    const first = await succeeded(...page);
    expect(first).toMatchObject({ access_request_id: id, account_id, operator, next: 100 });
    const [comment, ...imported] = Object(first.events);
    expect(comment).toEqual({ ...body, written_by: { account_id } });
    expect(imported[98]).toMatchObject({ id: 100, written_by: { operator } });
    const last = await succeeded(...page, '--after', String(first.next));
    expect(last).not.toHaveProperty('next');
    expect(last.events).toMatchObject([{ id: 101, written_by: { operator } }]);
    expect((await service.search('?page_size=1', { id })).body.results).toEqual([body]);
  });

  test('events list: an access request that an account created for itself names no operator', async () => {
    const { id } = (await service.createAccessRequest()).body;
    const listed = await succeeded('events', 'list', '--access-request', String(id));
    expect(listed).toEqual({
      access_request_id: id,
      account_id: demo.account.account_id,
      created_at: expect.stringMatching(/Z$/),
      events: [],
    });
  });

  test('providers set takes a secret from a file or from standard input, without the end of its line', async () => {
    const login_app_id = String(
      (await succeeded('login-apps', 'create', '--name', 'App')).login_app_id,
    );
    const target = ['--login-app', login_app_id, '--provider', 'provider_a'];
    const set = [
      'providers',
      'set',
      ...target,
      '--preset',
      'github',
      '--app-id',
      'us',
      '--app-secret-file',
    ];
    const settings = expect.objectContaining({ namespace: 'api.github.com' });
    const shown = { login_app_id, provider: 'provider_a', settings };
    const file = writeSettings('our-secret\n');
    expect(parseCommandLine([...set, file])).toMatchObject({
      flags: { 'app-secret': 'our-secret' },
    });
    expect(await succeeded(...set, file)).toEqual(shown);
    const local = { LOCAL_DIR: process.env.SERVICE_DIR ?? '' };
    const { code, stdout, stderr } = await operatorProcessWith(
      'our-secret\n',
      local,
      ...set,
      '-',
      '--local',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual(shown);
    expect(stdout).not.toContain('our-secret');
  });

  test('providers check: exit code 2 when something is not ok', async () => {
    const { login_app_id } = await createLoginApp(service, unique('app'));
    const flags = { 'login-app': login_app_id, provider: 'provider_c' };
    const settings = {
      verify_url: 'http://127.0.0.1:1/verify',
      consumer_key: 'our-key',
      consumer_secret: 'our-secret',
      subject_field: 'id',
      namespace: 'provider.example',
    };
    await service.operate('providers', 'set', { ...flags, settings });
    const check = [
      'providers',
      'check',
      '--login-app',
      login_app_id,
      '--provider',
      'provider_c',
      '--local',
    ];
    const { code, stdout } = await operator(...check);
    expect({ code, ok: JSON.parse(stdout).ok }).toEqual({ code: 2, ok: false });
    const ofDemo = [
      '--login-app',
      demo.login_app.login_app_id,
      '--provider',
      'provider_f',
      '--local',
    ];
    expect(await operator('providers', 'check', ...ofDemo)).toMatchObject({ code: 0, stderr: '' });
  });

  test('the flags may come in any order, also before the noun', async () => {
    const { code, stdout } = await operator('--local', 'accounts', 'create', '--name=x');
    expect({ code, keys: Object.keys(JSON.parse(stdout)) }).toEqual({
      code: 0,
      keys: ['account_id', 'account_secret'],
    });
  });
});

test('npm run operator writes nothing on standard error when its reader has seen enough, as head has', async () => {
  const line = `"${process.execPath}" infra/operator/main.ts --help | true`;
  const env = { ...process.env, NODE_OPTIONS: '' };
  expect(await promisify(exec)(line, { env })).toMatchObject({ stderr: '' });
});

describe('npm run operator -- --help', () => {
  const help = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await operator(...words);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };
  /** The names that do not begin a line of a help text. */
  const missingIn = (text: string, names: string[]): string[] =>
    names.filter((name) => !text.includes(`  ${name} `));
  /** Commands that the service, or another command, carries out by itself. */
  const machinery = [...commands.values()].filter(({ isMachinery }) => isMachinery);

  test('fits a screen: nouns under four headings; also as -h and when nothing is asked for', async () => {
    const [text, short, bare] = [await help('--help'), await help('-h'), await help()];
    expect([short, bare]).toEqual([text, text]);
    const lines = text.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(34);
    expect(lines.filter((line) => /^[A-Z][\w ]+:$/.test(line))).toEqual([
      'Options:',
      'People:',
      'Login Apps:',
      'Back offices:',
      'The deployment:',
    ]);
    expect(missingIn(text, ['--local', '--stack <name>', '-h, --help'])).toEqual([]);
    expect(text).not.toContain('probes');
  });

  test('of a noun names its commands, but none of the machinery', async () => {
    const shown = [...commands.values()].filter((command) => !machinery.includes(command));
    const byNoun = Map.groupBy(shown, ({ words }) => words.split(' ')[0] ?? '');
    const top = await help('--help');
    expect(missingIn(top, [...byNoun.keys()])).toEqual([]);
    for (const [noun, ofNoun] of byNoun) {
      const text = await help(noun, '--help');
      const names = ofNoun.map(({ words }) => words);
      expect(missingIn(text, names)).toEqual([]);
      const hidden = machinery.map(({ words }) => words);
      expect(missingIn(text, hidden)).toEqual(hidden);
    }
    expect(missingIn(await help('release', '-h'), ['release show', 'release back'])).toEqual([]);
  });

  test.each(machinery)('of $words is there, too', async ({ words, summary }) => {
    const text = await help(...words.split(' '), '--help');
    expect(text.replaceAll(/\s+/g, ' ')).toContain(summary);
  });

  test('of a command names its flags, and changes nothing', async () => {
    const text = await help('reviews', 'add', '--help');
    const flags = ['--access-request <number>', '--actor-id <text>', '--status <choice>'];
    expect(missingIn(text, flags)).toEqual([]);
    expect(text).toContain('The verdict: approved, rejected');
    expect(text).toMatch(/--comment <text> .*\(optional\)/);
    expect(await help('reviews', 'add', '-h')).toBe(text);
    expect(await help('providers', 'set', '--help')).toContain('--settings <FILE.json>');
    expect(await help('login-apps', 'tokens', 'create', '-h')).toContain('--name <text>');
    expect(await help('accounts', 'create', '--name', 'x', '--local', '--help')).not.toContain(
      'ac_',
    );
  });
});
