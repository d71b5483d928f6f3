import { logEvent, logFailure } from '../log.ts';
import { Refusal } from '../refusal.ts';
import { type Command, commandTable, type OperatorAnswer, type OperatorCall } from './command-table.ts';
import {
  accessRequestCommands,
  commentCommands,
  eventCommands,
  reviewCommands,
} from './commands/access-requests.ts';
import { accountCommands } from './commands/accounts.ts';
import { deviceCommands } from './commands/devices.ts';
import { clientCommands, loginAppCommands, mobileApplicationCommands } from './commands/login-apps.ts';
import { loginUserCommands } from './commands/login-users.ts';
import { providerCommands } from './commands/providers.ts';
import { type FlagValues, flagProblems } from './flags.ts';

type Table = typeof commandTable;

/** What a noun's commands do. @throws Refusal when nothing was changed */
export type CommandsOf<Noun extends keyof Table> = {
  [Verb in keyof Table[Noun]]: Table[Noun][Verb] extends Command
    ? (flags: FlagValues<Table[Noun][Verb]>) => Promise<Record<string, unknown>>
    : never;
};

const commands: { [Noun in keyof Table]: CommandsOf<Noun> } = {
  accounts: accountCommands,
  'login-apps': loginAppCommands,
  clients: clientCommands,
  'mobile-applications': mobileApplicationCommands,
  providers: providerCommands,
  'access-requests': accessRequestCommands,
  comments: commentCommands,
  reviews: reviewCommands,
  events: eventCommands,
  devices: deviceCommands,
  'login-users': loginUserCommands,
};

/** Carries out one operator command. */
export async function operate({ noun, verb, flags }: OperatorCall): Promise<OperatorAnswer> {
  const command = member<Command>(commandTable, noun, verb);
  const run = member<(flags: Record<string, unknown>) => Promise<Record<string, unknown>>>(
    commands,
    noun,
    verb,
  );
  if (!command || !run) return { error: 'There is no such command.' };
  const problems = flagProblems(command, flags);
  if (problems.length > 0) return { error: `${noun} ${verb}: ${problems.join('; ')}.` };
  const told = { command: `${noun} ${verb}`, ...idsOf(flags) };
  try {
    const result = await run(flags);
    logEvent('operator_command', told);
    return { result };
  } catch (error) {
    if (error instanceof Refusal) {
      logEvent('operator_command_refused', told);
      return { error: error.message };
    }
    logFailure('operator_command_failed', error, told);
    return { error: 'The command failed; the log of the operator function tells why.' };
  }
}

/** The flags that name something of ours; names, comments and settings stay out of the log. */
const idsOf = (flags: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(flags)
      .filter(([name]) => loggedFlags.includes(name))
      .map(([name, value]) => [name.replaceAll('-', '_'), value]),
  );
const loggedFlags = [
  'login-app',
  'client',
  'provider',
  'platform',
  'account',
  'access-request',
  'login-user',
  'session',
  'device',
];

const member = <Member>(table: Record<string, Record<string, unknown>>, noun: string, verb: string) =>
  (Object.hasOwn(table, noun) && Object.hasOwn(table[noun] ?? {}, verb) ? table[noun]?.[verb] : undefined) as
    | Member
    | undefined;
