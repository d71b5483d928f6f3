import {
  type Account,
  createAccount,
  readAccount,
  revokeAccountSecret,
  rotateAccountSecret,
  setAccountDisabled,
  setReadOnly,
} from '../../accounts/account.ts';
import { ServiceError } from '../../service-error.ts';
import type { CommandsOf } from '../commands-of.ts';
import { revokedOrThrow, rotatedOrThrow } from './secrets.ts';

/** The account of a command. @throws ServiceError when there is none */
export async function requireAccount(id: string): Promise<Account> {
  const account = await readAccount(id);
  if (!account) throw noSuchAccount();
  return account;
}

const noSuchAccount = (): ServiceError => new ServiceError('not_found', 'There is no such account.');

async function disable(account_id: string, disabled: boolean): Promise<Record<string, unknown>> {
  if (!(await setAccountDisabled(account_id, disabled))) throw noSuchAccount();
  return { account_id, disabled };
}

export const accountCommands: CommandsOf<'accounts'> = {
  create: async ({ name, access }) => createAccount(name, access === 'read'),
  update: async ({ account, access }) => {
    if (!(await setReadOnly(account, access === 'read'))) throw noSuchAccount();
    return { account_id: account, access };
  },
  disable: ({ account }) => disable(account, true),
  enable: ({ account }) => disable(account, false),
  rotate: async ({ account: id }) => {
    const account = await requireAccount(id);
    const { secret, old_secrets } = rotatedOrThrow(await rotateAccountSecret(account), account);
    return { account_id: account.account_id, account_secret: secret, old_secrets };
  },
  revoke: async ({ account: id, secret }) => {
    const account = await requireAccount(id);
    const left = revokedOrThrow(await revokeAccountSecret(account, secret), account);
    return { account_id: account.account_id, ...left };
  },
};
