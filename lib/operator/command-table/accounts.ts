import type { Command } from '../command.ts';
import { account, after, name, namePrefix, secretOf, secretTo } from './shared-flags.ts';

const accountAccess = ['read', 'read-write'] as const;
const access = {
  kind: 'choice',
  of: accountAccess,
  help: 'Whether it may only search, or also write',
} as const;

export const accounts = {
  list: { summary: 'List all accounts by name', flags: { after } },
  find: { summary: 'List the accounts whose names begin with a text', flags: { name: namePrefix, after } },
  show: { summary: 'Show an account, its secrets and whether it is disabled', flags: { account } },
  create: {
    summary: 'Create an account; its secret is shown only once',
    flags: { name, access: { ...access, optional: true } },
    files: secretTo,
  },
  rename: { summary: 'Give an account another name', flags: { account, name } },
  update: { summary: 'Change what an account may do; takes up to 30 seconds', flags: { account, access } },
  disable: {
    summary: 'Reject the secrets of an account until it is enabled; takes up to 30 seconds',
    flags: { account },
  },
  enable: { summary: 'Accept the secrets of a disabled account again', flags: { account } },
  rotate: {
    summary: 'Give an account a second secret; the old one stays valid until it is revoked',
    flags: { account },
    files: secretTo,
  },
  delete: {
    summary: 'Delete an account and its accesses; its access requests and what it wrote stay',
    flags: { account },
  },
  revoke: {
    summary: 'Revoke a secret of an account',
    flags: { account, secret: secretOf('accounts show') },
  },
} as const satisfies Record<string, Command>;
