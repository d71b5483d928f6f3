import type { Command } from '../command.ts';
import { after, loginApp, loginUser, provider } from './shared-flags.ts';

export const loginUsers = {
  list: {
    summary: 'List the people of a Login App',
    flags: { 'login-app': loginApp, after },
  },
  show: {
    summary: 'Show a Login User and whether anything keeps them out',
    flags: { 'login-user': loginUser },
  },
  find: {
    summary: 'Show the Login User whom a provider knows by a subject',
    flags: {
      'login-app': loginApp,
      provider,
      subject: { kind: 'text', help: "The provider's id of the person" },
      issuer: {
        kind: 'text',
        help: 'Who vouches for them, if the provider has several issuers or was removed',
        optional: true,
      },
    },
  },
  block: { summary: 'Block a Login User from logging in', flags: { 'login-user': loginUser } },
  unblock: { summary: 'Let a blocked Login User log in again', flags: { 'login-user': loginUser } },
  logout: { summary: 'End all sessions of a Login User', flags: { 'login-user': loginUser } },
  delete: {
    summary: 'Delete a Login User, their sessions, identities and the relations of their devices',
    flags: { 'login-user': loginUser },
  },
  'retry-revocations': {
    summary: 'Revoke tokens at providers that did not answer at a deletion or an unlinking',
    flags: { 'login-user': loginUser },
  },
  export: {
    summary: 'Show everything that is known about a Login User, as one JSON document',
    flags: { 'login-user': loginUser },
  },
} as const satisfies Record<string, Command>;

export const sessions = {
  list: {
    summary: 'List the active sessions of a Login User',
    flags: {
      'login-user': loginUser,
      after: { kind: 'id', form: 's_…', help: after.help, optional: true },
    },
  },
  find: {
    summary: 'Show the session that an access token or a refresh token belongs to',
    flags: {
      token: {
        kind: 'secret',
        help: 'A file with the token, which may have expired; - for standard input',
      },
    },
  },
  show: {
    summary: 'Show a session and whether it is active',
    flags: {
      'login-user': loginUser,
      session: {
        kind: 'id',
        form: 's_…',
        from: 'sessions list',
        help: 'The session: the sid of its tokens',
      },
    },
  },
} as const satisfies Record<string, Command>;
