import type { Command } from '../command.ts';
import { accessRequestCommands } from './access-requests.ts';
import { accountCommands } from './accounts.ts';
import { clientCommands } from './clients.ts';
import { deviceCommands } from './devices.ts';
import { eventCommands } from './events.ts';
import { identityCommands } from './identities.ts';
import { loginAppCommands } from './login-apps.ts';
import { loginUserCommands } from './login-users.ts';
import { mobileApplicationCommands } from './mobile-applications.ts';
import { probeCommands } from './probes.ts';
import { providerCommands } from './providers.ts';
import { releaseCommands } from './release.ts';
import { sessionCommands } from './sessions.ts';
import { signingKeyCommands } from './signing-keys.ts';

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
    ...releaseCommands,
    ...loginUserCommands,
    ...identityCommands,
    ...sessionCommands,
  ].map((command) => [command.words, command]),
);
