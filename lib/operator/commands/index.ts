import type { Command } from '../command.ts';
import { accessRequestCommands } from './access-requests.ts';
import { accountCommands } from './accounts.ts';
import { clientCommands } from './clients.ts';
import { deploymentCommands } from './deployment.ts';
import { deviceCommands } from './devices.ts';
import { loginAppCommands } from './login-apps.ts';
import { loginUserCommands } from './login-users.ts';
import { providerTokenCommands } from './provider-tokens.ts';
import { providerCommands } from './providers.ts';

/** Every operator command by its words, in the order of the help. */
export const commands: ReadonlyMap<string, Command> = new Map(
  [
    ...accountCommands,
    ...loginAppCommands,
    ...clientCommands,
    ...providerCommands,
    ...providerTokenCommands,
    ...accessRequestCommands,
    ...deviceCommands,
    ...deploymentCommands,
    ...loginUserCommands,
  ].map((command) => [command.words, command]),
);
