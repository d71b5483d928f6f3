import { describe, expect, test } from '@jest/globals';
import { readable } from '../../infra/operator/readable.ts';
import { operator, writeSettings } from '../support/operator.ts';
import { startProviderStandIn } from '../support/provider-stand-in.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();
const standIn = await startProviderStandIn();

describe('npm run operator: a table on a terminal', () => {
  test('JSON with --json, and for programs', async () => {
    const show = ['accounts', 'show', '--account', service.demo.account.account_id, '--local'];
    const { stdout } = await operator(...show);
    expect((await operator.atTerminal('')(...show, '--json')).stdout).toBe(stdout);
    const table = (await operator.atTerminal('')(...show)).stdout;
    expect(table).toMatch(/^account_id {2}ac_/);
    expect(table).toMatch(/\n\nSECRET ID +CREATED AT\nsec_/);
  });

  test('fields, then lists, then how to go on', () => {
    const members = [
      { id: 'a', name: 'Zoë', on: true },
      { id: 'bc', grants: ['x', 'y'] },
      { id: 'd', grants: [] },
    ];
    expect(
      readable({ login_app_id: 'la_1', settings: { a: 1 }, members, tokens: [], next: 'n3xt' }),
    ).toBe(
      `login_app_id  la_1
settings      {"a":1}

ID  NAME  ON   GRANTS
a   Zoë   yes  -
bc  -     -    x, y
d   -     -    none

No tokens.

More follow: repeat the command with --after n3xt`,
    );
  });

  test('times are ISO times, also those that JSON has in epoch seconds', () => {
    const times = { created_at: '2026-01-31T08:00:00.000Z', sessions_valid_from: 1_769_846_400 };
    expect(readable({ ...times, sessions: [{ generation: 7, started_at: 1_769_846_400 }] })).toBe(
      `created_at           2026-01-31T08:00:00.000Z
sessions_valid_from  2026-01-31T08:00:00.000Z

GENERATION  STARTED AT
7           2026-01-31T08:00:00.000Z`,
    );
  });

  test('a name in JSON cannot steer the terminal; a program gets it as it is', async () => {
    const name = 'a\u009b2Jb\u007f\u202ec\u{e0041}';
    const { account_id } = await service.operate('accounts', 'create', { name });
    const show = ['accounts', 'show', '--account', String(account_id), '--local', '--json'];
    const { stdout } = await operator.atTerminal('')(...show);
    expect(stdout).toMatch(/^[\n\x20-\x7e]+$/);
    expect(stdout).toContain('a\\u009b2Jb\\u007f\\u202ec\\udb40\\udc41');
    expect(JSON.parse(stdout)).toMatchObject({ name });
    expect((await operator(...show)).stdout).toContain(name);
  });

  test('neither a name nor the place where the next page begins can steer the terminal', () => {
    expect(readable({ name: 'a\u001b[2Jb\n\u202ec' })).toBe('name  a\\u001b[2Jb\\u000a\\u202ec');
    expect(readable({ next: 'a\u001b[2J\nb' })).toMatch(/ --after a\\u001b\[2J\\u000ab$/);
  });

  test('nor can what an error line repeats; a program gets it as it is', async () => {
    const words = ['accounts', 'a\u001b]0;b\u0007\u202e', '--local'];
    const { stderr } = await operator.atTerminal('')(...words);
    expect(stderr).toMatch(/^unknown command 'a\\u001b\]0;b\\u0007\\u202e'.*\n$/);
    expect((await operator(...words)).stderr).toContain(words[1]);
  });

  test('nor can the address to which the discovery document of an issuer leads', async () => {
    const scene = standIn.openScene();
    const body = { issuer: scene.url, jwks_uri: 'https://keys.example/\u001b[2J\u202e?a\nb' };
    scene.answer('.well-known/openid-configuration', { status: 200, body });
    const settings = { issuers: [{ issuer: scene.url, audiences: ['us'] }] };
    const { login_app_id } = service.demo.login_app;
    const set = `providers set --local --login-app ${login_app_id} --provider provider_f --settings`;
    const { stderr } = await operator(...set.split(' '), writeSettings(JSON.stringify(settings)));
    const address = 'https://keys.example/%1B[2J%E2%80%AE?ab';
    expect(stderr).toContain(`are on another host: ${address}, if you trust it.`);
  });
});
