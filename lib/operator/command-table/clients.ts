import { grantTypes } from '../../login-apps/grant-types.ts';
import type { Command } from '../command.ts';
import { after, client, loginApp, secretOf, secretTo } from './shared-flags.ts';

const allowedGrants = {
  kind: 'subset',
  of: grantTypes,
  help: `The grants that the client may use: all, none (it may only introspect tokens), or some of ${grantTypes.join(', ')}, separated by commas`,
} as const;

export const clients = {
  list: {
    summary: 'List the clients of a Login App',
    flags: {
      'login-app': loginApp,
      after: { kind: 'id', form: 'la_….c_…', help: after.help, optional: true },
    },
  },
  find: {
    summary: 'Show which client of a Login App has a secret',
    flags: {
      'login-app': loginApp,
      secret: { kind: 'secret', help: 'A file with the secret of a client; - for standard input' },
    },
  },
  show: {
    summary: 'Show a client, its secrets, its grants and whether its Login App is disabled',
    flags: { client },
  },
  create: {
    summary: 'Create a client of a Login App; its secret is shown only once',
    flags: { 'login-app': loginApp, 'grant-types': { ...allowedGrants, optional: true } },
    files: secretTo,
  },
  update: {
    summary: 'Change which grants a client may use; takes up to 30 seconds',
    flags: { 'login-app': loginApp, client, 'grant-types': allowedGrants },
  },
  rotate: {
    summary: 'Give a client a second secret; the old one stays valid until it is revoked',
    flags: { 'login-app': loginApp, client },
    files: secretTo,
  },
  revoke: {
    summary: 'Revoke a client and its Login App Tokens, or one of its secrets; takes up to 30 seconds',
    flags: { 'login-app': loginApp, client, secret: { ...secretOf('clients show'), optional: true } },
  },
} as const satisfies Record<string, Command>;
