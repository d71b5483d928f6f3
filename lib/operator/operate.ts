import * as v from 'valibot';
import { invalid, ServiceError } from '../foundation/service-error.ts';
import { logAudit, logFailure } from '../log/log.ts';
import { idsAmong, notedIds } from '../log/request-fields.ts';
import { loggedFlags, loggedReason } from './command.ts';
import { commands } from './commands/index.ts';
import { identifyOperator, type OperatorAnswer, operatorCallSchema } from './operator-call.ts';

/**
 * Carries out one operator command, and writes its audit line.
 * @param functionArn of the operator function
 */
export async function operate(call: unknown, functionArn: string): Promise<OperatorAnswer> {
  if (!v.is(operatorCallSchema, call)) {
    logAudit({
      caller: 'unauthenticated',
      command: 'unknown',
      result: 'rejected',
      error: 'invalid_request',
    });
    return { error: 'The call is malformed. Use npm run operator.' };
  }
  const { noun, verb, flags } = call;
  const command = commands.get(`${noun} ${verb}`);
  const about: { caller: 'operator' | 'unauthenticated'; command: string } & Record<
    string,
    unknown
  > = {
    caller: 'unauthenticated',
    // The words of an unknown command could be anything.
    command: command?.words ?? 'unknown',
    ...(command && loggedFlags(command.flags, flags)),
  };
  const reason = command && loggedReason(command.flags, flags);
  try {
    const operator = await identifyOperator(call, functionArn);
    Object.assign(about, { caller: 'operator', operator });
    if (!command) throw invalid('There is no such command.');
    const result: Record<string, unknown> = { ...(await command.run(flags, operator)) };
    // Everything but the ids in it may be secret.
    logAudit({
      ...about,
      ...reason,
      ...notedIds(),
      ...idsAmong({ ...result, event_id: result.id }),
      result: 'done',
    });
    return { result };
  } catch (error) {
    if (error instanceof ServiceError) {
      logAudit({ ...about, ...reason, ...notedIds(), result: 'rejected', error: error.code });
      return { error: error.message };
    }
    logAudit({ ...about, ...reason, ...notedIds(), result: 'failed' });
    logFailure('operator_command_failed', error, about);
    return { error: 'The command failed. The log of the operator function says why.' };
  }
}
