import type { Command } from './command.ts';
import { accessRequests } from './command-table/access-requests.ts';
import { accounts } from './command-table/accounts.ts';
import { clients } from './command-table/clients.ts';
import { devices } from './command-table/devices.ts';
import { comments, events, reviews } from './command-table/events.ts';
import { loginApps, mobileApplications } from './command-table/login-apps.ts';
import { loginUsers, sessions } from './command-table/login-users.ts';
import { probes } from './command-table/probes.ts';
import { providers } from './command-table/providers.ts';
import { signingKeys } from './command-table/signing-keys.ts';

/** Every operator command: noun, verb, flags. Pure data, which the command line and the operator function both read. */
export const commandTable = {
  accounts,
  'login-apps': loginApps,
  clients,
  'mobile-applications': mobileApplications,
  providers,
  'access-requests': accessRequests,
  comments,
  reviews,
  events,
  devices,
  'signing-keys': signingKeys,
  probes,
  'login-users': loginUsers,
  sessions,
} as const satisfies Record<string, Record<string, Command>>;
