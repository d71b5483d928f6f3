import { logEvent, logFailure } from '../log.ts';
import { ServiceError } from '../service-error.ts';
import { type Command, commandTable } from './command-table.ts';
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
import type { CommandsOf } from './commands-of.ts';
import { flagProblems, loggedFlags } from './flags.ts';
import type { OperatorAnswer, OperatorCall } from './operator-call.ts';

type Table = typeof commandTable;

const commands = {
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
} satisfies { [Noun in keyof Table]: CommandsOf<Noun> };

/**
 * A command whose name is known only when it is called. `flagProblems` makes sure that it gets the flags it takes; for
 * the compiler it takes any, which TypeScript allows for methods.
 */
type Carry = { out(flags: Record<string, unknown>): Promise<Record<string, unknown>> }['out'];

const commandOf: Record<string, Record<string, Command>> = commandTable;
const carryOf: Record<string, Record<string, Carry>> = commands;

/** Carries out one operator command. */
export async function operate({ noun, verb, flags }: OperatorCall): Promise<OperatorAnswer> {
  const command = member(commandOf, noun, verb);
  const carryOut = member(carryOf, noun, verb);
  if (!command || !carryOut) return { error: 'There is no such command.' };
  const problems = flagProblems(command, flags);
  if (problems.length > 0) return { error: `${noun} ${verb}: ${problems.join('; ')}.` };
  const logged = { command: `${noun} ${verb}`, ...loggedFlags(command, flags) };
  try {
    const result = await carryOut(flags);
    logEvent('operator_command', { ...logged, ...loggedResult(result) });
    return { result };
  } catch (error) {
    if (error instanceof ServiceError) {
      logEvent('operator_command_refused', logged);
      return { error: error.message };
    }
    logFailure('operator_command_failed', error, logged);
    return { error: 'The command failed. The log of the operator function says why.' };
  }
}

/** The ids of a result, under their names in the log. Everything else in it may be secret. */
function loggedResult(result: Record<string, unknown>): Record<string, unknown> {
  const ids = Object.entries(loggedIds).map(([name, field]) => [field, result[name]]);
  return Object.fromEntries(ids.filter(([, id]) => id !== undefined));
}
const loggedIds = {
  login_app_id: 'login_app_id',
  client_id: 'client_id',
  token_id: 'token_id',
  account_id: 'account_id',
  access_request_id: 'access_request_id',
  id: 'event_id',
  login_user_id: 'login_user_id',
  device_id: 'device_id',
};

/** An own entry of a table of tables; what their prototypes have does not count. */
function member<Entry>(
  table: Record<string, Record<string, Entry>>,
  noun: string,
  verb: string,
): Entry | undefined {
  const entries = Object.hasOwn(table, noun) ? table[noun] : undefined;
  return entries && Object.hasOwn(entries, verb) ? entries[verb] : undefined;
}
