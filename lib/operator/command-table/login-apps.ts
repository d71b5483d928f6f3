import type { Command } from '../command.ts';
import { after, loginApp, name, namePrefix, platform, secretTo } from './shared-flags.ts';

export const loginApps = {
  list: { summary: 'List all Login Apps by name', flags: { after } },
  find: {
    summary: 'List the Login Apps whose names begin with a text',
    flags: { name: namePrefix, after },
  },
  show: {
    summary: 'Show a Login App, what is set up for it and whether it is disabled',
    flags: { 'login-app': loginApp },
  },
  rename: { summary: 'Give a Login App another name', flags: { 'login-app': loginApp, name } },
  create: { summary: 'Create a Login App', flags: { name } },
  disable: {
    summary: 'Stop logins and reject all tokens of a Login App until it is enabled; takes up to 30 seconds',
    flags: { 'login-app': loginApp },
  },
  enable: { summary: 'Let people use a disabled Login App again', flags: { 'login-app': loginApp } },
  delete: {
    summary: 'Delete a Login App while nobody can log in, or with all its people and devices',
    flags: {
      'login-app': loginApp,
      'with-everything': {
        kind: 'switch',
        help: 'Disable it, and delete its people and devices too',
        optional: true,
      },
    },
  },
  logout: {
    summary: 'End all sessions of a Login App; takes up to 30 seconds',
    flags: { 'login-app': loginApp },
  },
  'undo-logout': {
    summary: 'Take the latest logout of a Login App back: its sessions go on',
    flags: { 'login-app': loginApp },
  },
  'tokens create': {
    summary: 'Create a long-lived Login App Token to ship inside an app; it is shown only once',
    flags: { 'login-app': loginApp, name },
    files: secretTo,
  },
  'tokens list': {
    summary: 'List the long-lived Login App Tokens of a Login App',
    flags: { 'login-app': loginApp },
  },
  'tokens revoke': {
    summary: 'Revoke a long-lived Login App Token; it stops working within 30 seconds',
    flags: {
      'login-app': loginApp,
      token: { kind: 'id', form: 't_…', from: 'login-apps tokens list', help: 'The token' },
    },
  },
} as const satisfies Record<string, Command>;

export const mobileApplications = {
  set: { summary: 'Allow devices of a platform to register', flags: { 'login-app': loginApp, platform } },
  remove: {
    summary: 'Stop devices of a platform from registering',
    flags: { 'login-app': loginApp, platform },
  },
} as const satisfies Record<string, Command>;
