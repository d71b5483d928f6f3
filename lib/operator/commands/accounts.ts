import { type Account, createAccount, readAccount } from '../../accounts/account.ts';
import { Refusal } from '../../refusal.ts';
import { accountKey } from '../../storage/keys.ts';
import type { CommandsOf } from '../operate.ts';
import { revokeSecret, rotateSecret } from './rotate-secrets.ts';

/** The account of a command. @throws Refusal when there is none */
export async function requireAccount(id: string): Promise<Account> {
  const account = await readAccount(id);
  if (!account) throw new Refusal('not_found', 'There is no such account.');
  return account;
}

export const accountCommands: CommandsOf<'accounts'> = {
  create: async ({ name }) => createAccount(name),
  rotate: async ({ account: id }) => {
    const account = await requireAccount(id);
    const { account_id } = account;
    const { secret, old_secrets } = await rotateSecret(accountKey(account_id), account, 'acs');
    return { account_id, account_secret: secret, old_secrets };
  },
  revoke: async ({ account: id, secret }) => {
    const account = await requireAccount(id);
    const { account_id } = account;
    return { account_id, ...(await revokeSecret(accountKey(account_id), account, secret)) };
  },
};
