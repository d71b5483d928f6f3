import type { Command } from './command.ts';
import { accessRequestCommands } from './commands/access-requests.ts';
import { accountCommands } from './commands/accounts.ts';
import { clientCommands } from './commands/clients.ts';
import { deviceCommands } from './commands/devices.ts';
import { eventCommands } from './commands/events.ts';
import { identityCommands } from './commands/identities.ts';
import { loginAppCommands } from './commands/login-apps.ts';
import { loginUserCommands } from './commands/login-users.ts';
import { mobileApplicationCommands } from './commands/mobile-applications.ts';
import { probeCommands } from './commands/probes.ts';
import { providerCommands } from './commands/providers.ts';
import { sessionCommands } from './commands/sessions.ts';
import { signingKeyCommands } from './commands/signing-keys.ts';

/** Every operator command by its words, in the order of the help. */
export const commands: ReadonlyMap<string, Command> = new Map(
  [
    ...accountCommands,
    ...loginAppCommands,
    ...clientCommands,
    ...mobileApplicationCommands,
    ...providerCommands,
    ...accessRequestCommands,
    ...eventCommands,
    ...deviceCommands,
    ...signingKeyCommands,
    ...probeCommands,
    ...loginUserCommands,
    ...identityCommands,
    ...sessionCommands,
  ].map((command) => [command.words, command]),
);
