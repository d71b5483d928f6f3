import { describe, expect, test } from '@jest/globals';
import { parseCommandLine } from '../../infra/operator/parse-command-line.ts';
import { writeSettings } from '../support/operator.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();
const { demo } = service;
const loginApp = ['--login-app', demo.login_app.login_app_id];

/** The line that the command line shows for these words. */
async function lineFor(words: string[]): Promise<string> {
  try {
    const command = parseCommandLine([...words, '--local']);
    if (command.help) return 'help';
    await service.operate(command.noun, command.verb, command.flags);
    return 'carried out';
  } catch (error) {
    // An error of Node's own is no Error of jest's realm.
    return String(Object(error).message).split('\n')[0] ?? '';
  }
}

const account = demo.account.account_id;
const event = [
  ...['--access-request', String(demo.access_request_id)],
  ...['--actor-type', 'custom'],
  ...['--actor-id', 'x'],
];
const nobody = `la_${'A'.repeat(22)}`;
const noAccount = `ac_${'A'.repeat(22)}`;

const refusals: [string[], string | RegExp][] = [
  [['nouns', 'create'], 'There is no noun nouns. See --help.'],
  [['__proto__', 'create'], 'There is no noun __proto__. See --help.'],
  [['accounts'], 'accounts has the verbs create, rotate, revoke. See --help.'],
  [['clients', 'delete'], 'clients has the verbs create, rotate, revoke. See --help.'],
  [['accounts', 'constructor'], 'accounts has the verbs create, rotate, revoke. See --help.'],
  [['accounts', 'create'], 'accounts create: --name is missing.'],
  [['accounts', 'create', '--nmae', 'x'], 'There is no flag --nmae. See --help.'],
  [
    ['accounts', 'create', '--name'],
    'The flag --name needs a value; write --name=… for one that begins with a dash.',
  ],
  [
    ['accounts', 'create', '--name', 'a', 'b'],
    'There are words that belong to no flag; quote values that hold spaces.',
  ],
  [
    ['clients', 'create', '--login-app', 'la_x'],
    'clients create: --login-app must be an id of the form la_….',
  ],
  [['clients', 'create', '--login-app', nobody], 'There is no such Login App.'],
  [
    ['clients', 'revoke', ...loginApp, '--client', 'x'],
    'clients revoke: --client must be an id of the form la_….c_….',
  ],
  [
    ['clients', 'revoke', ...loginApp, '--client', `${nobody}.c_${'A'.repeat(22)}`],
    'The Login App has no such client.',
  ],
  [
    ['mobile-applications', 'set', ...loginApp, '--platform', 'windows'],
    'mobile-applications set: --platform must be one of ios, android.',
  ],
  [
    ['providers', 'show', ...loginApp, '--provider', 'provider_g'],
    'providers show: --provider must be one of provider_a, provider_b, provider_c, provider_d, provider_e, provider_f.',
  ],
  [
    ['access-requests', 'create', '--account', 'ac_x'],
    'access-requests create: --account must be an id of the form ac_….',
  ],
  [['access-requests', 'create', '--account', noAccount], 'There is no such account.'],
  [
    ['access-requests', 'grant', '--access-request', '999999999', '--account', account],
    'There is no such access request.',
  ],
  [
    ['access-requests', 'grant', '--access-request', '1.5', '--account', account],
    'access-requests grant: --access-request must be an integer.',
  ],
  [
    ['access-requests', 'grant', '--access-request', '1', '--account', noAccount],
    'There is no such account.',
  ],
  [
    ['comments', 'add', '--access-request', 'x', '--actor-type', 'y'],
    'comments add: --access-request must be an integer; --actor-type must be one of login_user, custom; --actor-id is missing; --comment is missing.',
  ],
  [
    ['comments', 'add', ...event, '--comment', 'x'.repeat(10_001)],
    'comment must have at most 10000 characters.',
  ],
  [
    ['comments', 'add', ...event.slice(0, -1), '', '--comment', 'x'],
    'actor_id must have 1 to 200 characters.',
  ],
  [
    ['comments', 'add', ...event.slice(0, -1), 'x'.repeat(201), '--comment', 'x'],
    'actor_id must have 1 to 200 characters.',
  ],
  [
    ['comments', 'add', ...event, '--comment', 'x', '--status', 'approved'],
    'comments add: there is no flag --status.',
  ],
  [['reviews', 'add', ...event], 'reviews add: --status is missing.'],
  [
    ['reviews', 'add', ...event, '--status', 'maybe'],
    'reviews add: --status must be one of approved, rejected.',
  ],
  [
    ['login-users', 'block', '--login-user', 'lu_x'],
    'login-users block: --login-user must be an id of the form lu_….',
  ],
  [['login-users', 'block', '--login-user', `lu_${'A'.repeat(43)}`], 'There is no such Login User.'],
];

describe('an operator command that is refused tells why, and changes nothing', () => {
  test.each(refusals.map(([words, line]) => ({ name: words.join(' ').slice(0, 90), words, line })))(
    '$name',
    async ({ words, line }) => {
      const before = (await service.search('?page_size=100')).text;
      expect(await lineFor(words)).toMatch(line instanceof RegExp ? line : exactly(line));
      expect((await service.search('?page_size=100')).text).toBe(before);
    },
  );

  test('a settings file that is missing, or no JSON', async () => {
    const set = ['providers', 'set', ...loginApp, '--provider', 'provider_f', '--settings'];
    expect(await lineFor([...set, '/nowhere.json'])).toBe(
      '--settings: the file /nowhere.json cannot be read.',
    );
    const file = writeSettings('{"issuer": ');
    expect(await lineFor([...set, file])).toBe(`--settings: the file ${file} is not JSON.`);
  });

  test('the operator function itself refuses what no command line sends', async () => {
    const call = (noun: string, verb: string, flags: Record<string, unknown>) =>
      expect(service.operate(noun, verb, flags)).rejects;
    await call('nouns', 'create', {}).toThrow(/^There is no such command\.$/);
    await call('__proto__', 'toString', {}).toThrow(/^There is no such command\.$/);
    await call('accounts', 'constructor', {}).toThrow(/^There is no such command\.$/);
    await call('accounts', 'create', { name: 7 }).toThrow(/^accounts create: --name must be text\.$/);
    await call('accounts', 'create', { name: 'x', toString: 'y' }).toThrow(/there is no flag --toString/);
  });
});

/** A pattern for this text and nothing else. */
function exactly(text: string): RegExp {
  return new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
}
