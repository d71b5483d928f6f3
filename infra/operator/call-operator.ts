import type { OperatorAnswer, OperatorCall } from '../../lib/operator/command-table.ts';
import { type FunctionTarget, invokeFunction } from '../invoke-function.ts';

/** Has the operator function carry out a command. @throws Error saying why nothing was changed */
export async function callOperator(
  target: FunctionTarget,
  noun: string,
  verb: string,
  flags: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const call: OperatorCall = { noun, verb, flags };
  const answer = (await invokeFunction(target, call)) as OperatorAnswer;
  if ('error' in answer) throw new Error(answer.error);
  return answer.result;
}
