import { describe, expect, test } from '@jest/globals';
import { operator } from '../support/operator.ts';
import { sharedService } from '../support/service.ts';

const service = sharedService();

/** An account with two secrets, and the command that revokes the old one. */
async function newRevocation() {
  const { account_id: account } = await service.operate('accounts', 'create', { name: 'Test' });
  const { old_secrets } = await service.operate('accounts', 'rotate', { account });
  const [{ secret_id }] = Object(old_secrets);
  const flags = ['--account', String(account), '--secret', String(secret_id)];
  return { words: ['accounts', 'revoke', ...flags], account, secret_id };
}

describe('npm run operator asks before it deletes or revokes something', () => {
  test.each(['y\n', 'YES\n'])('on a terminal, and goes on after %j', async (typed) => {
    const { words } = await newRevocation();
    const { code, stderr } = await operator.atTerminal(typed)(...words, '--local');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: `${words.join(' ')}, on the stack on this machine. Continue? [y/N] `,
    });
  });

  test.each(['n\n', '\n', '', 'yesterday\n'])('and changes nothing after %j', async (typed) => {
    const { words, account, secret_id } = await newRevocation();
    const { code, stdout, stderr } = await operator.atTerminal(typed)(...words, '--local');
    expect({ code, stdout, stderr }).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/Continue\? \[y\/N\] Nothing was changed\.\n$/),
    });
    // Both secrets are left, so there is no place for a third.
    await expect(service.operate('accounts', 'rotate', { account })).rejects.toThrow(String(secret_id));
  });

  test('not with --yes', async () => {
    const { words } = await newRevocation();
    const { code, stderr } = await operator.atTerminal('')(...words, '--local', '--yes');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });

  test('a program has to say --yes', async () => {
    const { words } = await newRevocation();
    expect(await operator(...words, '--local')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'accounts revoke takes effect at once: add --yes to confirm it.\n',
    });
  });

  test('other commands ask nothing', async () => {
    const { code, stderr } = await operator.atTerminal('')('accounts', 'create', '--name=x', '--local');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});
