import * as accounts from '../../access-requests/account.ts';
import { revokeSecretOf, shownSecret } from '../../secrets/item-secrets.ts';
import { setTimestamp, updateOwnItem } from '../../storage/items.ts';
import { accountsList, namePrefix as prefixOf } from '../../storage/keys.ts';
import { named } from '../../storage/lists.ts';
import { choice, defineCommands, existing, optional } from '../command.ts';
import { readPage, sortedByName } from '../pages.ts';
import { account, accountId, after, name, namePrefix, secretOf, secretTo } from './shared.ts';

async function disable(account_id: string, disabled: boolean) {
  existing(
    await setTimestamp(accounts.accountItem(account_id), 'disabled_at', disabled),
    'account',
  );
  return { account_id, disabled };
}

const accountShown = ({
  account_id,
  name,
  disabled_at,
  read_only,
  created_at,
}: accounts.Account) => ({
  account_id,
  name,
  access: read_only ? 'read' : 'read-write',
  disabled: disabled_at !== undefined,
  disabled_at,
  created_at,
});

async function accountsPage(after: string | undefined, prefix = '') {
  const { items, ...page } = await readPage(accountsList, after, prefix);
  const shown = items.map((item) => accountShown(accounts.accountItem.parse(item)));
  return { accounts: sortedByName(shown), ...page };
}

const access = choice(['read', 'read-write'], 'Whether it may only search, or also write');

export const accountCommands = defineCommands({
  'accounts list': {
    summary: 'List all accounts by name',
    flags: { after },
    run: ({ after }) => accountsPage(after),
  },
  'accounts find': {
    summary: 'List the accounts whose names begin with a text',
    flags: { name: namePrefix, after },
    run: ({ name, after }) => accountsPage(after, prefixOf(name)),
  },
  'accounts show': {
    summary: 'Show an account, its secrets and whether it is disabled',
    flags: { account },
    run: async ({ account }) => ({
      ...accountShown(account),
      secrets: account.secrets.map(shownSecret),
    }),
  },
  'accounts create': {
    summary: 'Create an account; its secret is shown only once',
    flags: { name, access: optional(access) },
    files: secretTo,
    run: ({ name, access }) => accounts.createAccount(name, access === 'read'),
  },
  'accounts rename': {
    summary: 'Give an account another name',
    flags: { account: accountId, name },
    run: async ({ account: account_id, name }) => {
      const set = named(accountsList, account_id, name);
      existing(await updateOwnItem(accounts.accountItem(account_id), { set }), 'account');
      return { account_id, name };
    },
  },
  'accounts update': {
    summary: 'Change what an account may do; takes up to 30 seconds',
    flags: { account: accountId, access },
    run: async ({ account: account_id, access }) => {
      const set = { read_only: access === 'read' || undefined };
      existing(await updateOwnItem(accounts.accountItem(account_id), { set }), 'account');
      return { account_id, access };
    },
  },
  'accounts disable': {
    summary: 'Reject the secrets of an account until it is enabled; takes up to 30 seconds',
    flags: { account: accountId },
    run: ({ account: id }) => disable(id, true),
  },
  'accounts enable': {
    summary: 'Accept the secrets of a disabled account again',
    flags: { account: accountId },
    run: ({ account: id }) => disable(id, false),
  },
  'accounts rotate': {
    summary: 'Give an account a second secret; the old one stays valid until it is revoked',
    flags: { account },
    files: secretTo,
    run: async ({ account }) => {
      const { secret, old_secrets } = await accounts.rotateAccountSecret(account);
      return { account_id: account.account_id, account_secret: secret, old_secrets };
    },
  },
  'accounts delete': {
    summary: 'Delete an account and its accesses; its access requests and what it wrote stay',
    flags: { account },
    run: ({ account }) => accounts.deleteAccount(account.account_id),
  },
  'accounts revoke': {
    summary: 'Revoke a secret of an account',
    flags: { account, secret: secretOf('accounts show') },
    run: async ({ account, secret }) => {
      const { account_id } = account;
      return {
        account_id,
        ...(await revokeSecretOf(accounts.accountItem(account_id), account, secret)),
      };
    },
  },
});
