import { presetNames } from '../../provider-settings/presets.ts';
import type { Command } from '../command.ts';
import { loginApp, provider } from './shared-flags.ts';

export const providers = {
  set: {
    summary: 'Set how the credentials of a provider are verified for a Login App',
    flags: {
      'login-app': loginApp,
      provider,
      settings: {
        kind: 'json',
        help: 'A JSON file with the provider settings; - for standard input',
        optional: true,
      },
      preset: { kind: 'choice', of: presetNames, help: 'Or: a well-known provider', optional: true },
      'app-id': { kind: 'text', help: 'With --preset: our app ids, separated by commas', optional: true },
      'app-secret': {
        kind: 'secret',
        help: 'With --preset: a file with the secret of our app, or its private key; - for standard input',
        optional: true,
      },
      'redirect-uri': {
        kind: 'text',
        help: 'With --preset: our redirect URIs, separated by commas',
        optional: true,
      },
      tenant: { kind: 'text', help: 'With --preset microsoft: the tenant id', optional: true },
      'team-id': { kind: 'text', help: 'With --preset apple: the team id', optional: true },
      'key-id': { kind: 'text', help: 'With --preset apple: the id of the private key', optional: true },
      namespace: {
        kind: 'text',
        help: 'With --preset: who vouches for the people; needed when the host changes',
        optional: true,
      },
    },
  },
  remove: {
    summary: 'Remove the settings of a provider, or one of its issuers; takes up to 30 seconds',
    flags: {
      'login-app': loginApp,
      provider,
      issuer: { kind: 'text', help: 'Only this issuer', optional: true },
    },
  },
  check: {
    summary: 'Call a provider with its settings and report what is wrong',
    flags: { 'login-app': loginApp, provider },
  },
  show: {
    summary: 'Show the provider settings of a Login App, with secrets masked',
    flags: { 'login-app': loginApp, provider: { ...provider, optional: true } },
  },
} as const satisfies Record<string, Command>;
