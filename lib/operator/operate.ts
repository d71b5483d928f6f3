import { ServiceError } from '../errors/service-error.ts';
import { type AuditedIds, idsAmong } from '../log/audit.ts';
import { logAudit, logFailure } from '../log/log.ts';
import type { Command } from './command.ts';
import { commandTable } from './command-table.ts';
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
import { probeCommands } from './commands/probes.ts';
import { providerCommands } from './commands/providers.ts';
import { sessionCommands } from './commands/sessions.ts';
import { signingKeyCommands } from './commands/signing-keys.ts';
import type { CommandsOf } from './commands-of.ts';
import { flagProblems, loggedFlags } from './flags.ts';
import { identifyOperator } from './identify-operator.ts';
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
  'signing-keys': signingKeyCommands,
  probes: probeCommands,
  'login-users': loginUserCommands,
  sessions: sessionCommands,
} satisfies { [Noun in keyof Table]: CommandsOf<Noun> };

/**
 * A command whose name is known only when it is called. `flagProblems` makes sure that it gets the flags it takes; for
 * the compiler it takes any, which TypeScript allows for methods.
 */
type Carry = {
  out(flags: Record<string, unknown>, operator: string): Promise<Record<string, unknown>>;
}['out'];

const commandOf: Record<string, Record<string, Command>> = commandTable;
const carryOf: Record<string, Record<string, Carry>> = commands;

/**
 * Carries out one operator command, and writes its audit line, whatever the outcome.
 * @param functionArn of the operator function
 */
export async function operate(call: OperatorCall, functionArn: string): Promise<OperatorAnswer> {
  const { noun, verb, flags } = call;
  const command = member(commandOf, noun, verb);
  const carryOut = member(carryOf, noun, verb);
  const about: { caller: 'operator' | 'unauthenticated'; command: string } & Record<string, unknown> = {
    caller: 'unauthenticated',
    // What is no command could be anything.
    command: command ? `${noun} ${verb}` : 'unknown',
    ...(command && loggedFlags(command, flags)),
  };
  try {
    const operator = await identifyOperator(call, functionArn);
    Object.assign(about, { caller: 'operator', operator });
    if (!command || !carryOut) throw new ServiceError('invalid_request', 'There is no such command.');
    const problems = flagProblems(command, flags);
    if (problems.length > 0)
      throw new ServiceError('invalid_request', `${noun} ${verb}: ${problems.join('; ')}.`);
    const result = await carryOut(flags, operator);
    logAudit({ ...about, ...loggedResult(result), result: 'done' });
    return { result };
  } catch (error) {
    if (error instanceof ServiceError) {
      logAudit({ ...about, result: 'rejected', error: error.code });
      return { error: error.message };
    }
    logAudit({ ...about, result: 'failed' });
    logFailure('operator_command_failed', error, about);
    return { error: 'The command failed. The log of the operator function says why.' };
  }
}

/** The ids of a result, under their names in the log. Everything else in it may be secret. */
const loggedResult = (result: Record<string, unknown>): AuditedIds =>
  idsAmong({ ...result, ...('id' in result && { event_id: result.id }) });

/** An own entry of a table of tables; what their prototypes have does not count. */
function member<Entry>(
  table: Record<string, Record<string, Entry>>,
  noun: string,
  verb: string,
): Entry | undefined {
  const entries = Object.hasOwn(table, noun) ? table[noun] : undefined;
  return entries && Object.hasOwn(entries, verb) ? entries[verb] : undefined;
}
