import type { Command } from '../command.ts';
import { account, client, loginApp } from './shared-flags.ts';

export const probes = {
  create: {
    summary: 'Create a probe: a Login App with a client and an account, for a check; secrets are shown once',
    flags: {},
  },
  remove: {
    summary: 'Remove a probe, if a check has left one behind',
    flags: { 'login-app': loginApp, client, account },
  },
} as const satisfies Record<string, Command>;
