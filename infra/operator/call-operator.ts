import * as v from 'valibot';
import { type OperatorCall, operatorAnswer } from '../../lib/operator/operator-call.ts';
import { type FunctionTarget, invokeFunction } from '../invoke-function.ts';
import { proveIdentity } from './prove-identity.ts';

/** Runs a command in the operator function. @throws Error saying why nothing was changed */
export async function callOperator(
  target: FunctionTarget,
  noun: string,
  verb: string,
  flags: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const command = { noun, verb, flags };
  const call: OperatorCall = { ...command, proof: await proveIdentity(target, command) };
  const answer = v.parse(operatorAnswer, await invokeFunction(target, call));
  if ('error' in answer) throw new Error(answer.error);
  return answer.result;
}
