import { createAccount } from '../../accounts/account.ts';
import type { CommandsOf } from '../operate.ts';

export const accountCommands: CommandsOf<'accounts'> = {
  create: async ({ name }) => createAccount(name),
};
