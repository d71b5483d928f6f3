import * as v from 'valibot';
import {
  type Account,
  accountItem,
  createAccount,
  readAccount,
  renameAccount,
  revokeAccountSecret,
  rotateAccountSecret,
  setAccountDisabled,
  setReadOnly,
} from '../../accounts/account.ts';
import { deleteAccount } from '../../accounts/delete-account.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { shownSecret } from '../../storage/item-secrets.ts';
import { accountsList, namePrefix } from '../../storage/keys.ts';
import { readPage } from '../../storage/pages.ts';
import type { CommandsOf } from '../commands-of.ts';
import { disabledSince } from './disabled.ts';
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

/** An account as an operator sees it. */
const shown = ({ account_id, name, disabled_at, read_only, created_at }: Account) => ({
  account_id,
  name,
  access: read_only ? 'read' : 'read-write',
  ...disabledSince(disabled_at),
  created_at,
});

async function listed(after: string | undefined, prefix = ''): Promise<Record<string, unknown>> {
  const { items, ...page } = await readPage(accountsList, after, prefix);
  return { accounts: items.map((item) => shown(v.parse(accountItem, item))), ...page };
}

export const accountCommands: CommandsOf<'accounts'> = {
  list: ({ after }) => listed(after),
  find: ({ name, after }) => listed(after, namePrefix(name)),
  show: async ({ account: id }) => {
    const account = await requireAccount(id);
    return { ...shown(account), secrets: account.secrets.map(shownSecret) };
  },
  rename: async ({ account, name }) => {
    if (!(await renameAccount(account, name))) throw noSuchAccount();
    return { account_id: account, name };
  },
  create: async ({ name, access }) => createAccount(name, access === 'read'),
  update: async ({ account, access }) => {
    if (!(await setReadOnly(account, access === 'read'))) throw noSuchAccount();
    return { account_id: account, access };
  },
  disable: ({ account }) => disable(account, true),
  enable: ({ account }) => disable(account, false),
  delete: async ({ account: id }) => {
    const { account_id } = await requireAccount(id);
    return { account_id, ...(await deleteAccount(account_id)) };
  },
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
