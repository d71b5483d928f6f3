import {
  type Account,
  createAccount,
  readAccount,
  revokeAccountSecret,
  rotateAccountSecret,
} from '../../accounts/account.ts';
import { ServiceError } from '../../service-error.ts';
import type { CommandsOf } from '../commands-of.ts';
import { revokedOrThrow, rotatedOrThrow } from './secrets.ts';

/** The account of a command. @throws ServiceError when there is none */
export async function requireAccount(id: string): Promise<Account> {
  const account = await readAccount(id);
  if (!account) throw new ServiceError('not_found', 'There is no such account.');
  return account;
}

export const accountCommands: CommandsOf<'accounts'> = {
  create: async ({ name }) => createAccount(name),
  rotate: async ({ account: id }) => {
    const account = await requireAccount(id);
    const { secret, old_secrets } = rotatedOrThrow(await rotateAccountSecret(account), account);
    return { account_id: account.account_id, account_secret: secret, old_secrets };
  },
  revoke: async ({ account: id, secret }) => {
    const account = await requireAccount(id);
    const left = revokedOrThrow(await revokeAccountSecret(account, secret));
    return { account_id: account.account_id, ...left };
  },
};
