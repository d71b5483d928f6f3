import * as v from 'valibot';
import { type OperatorCall, operatorAnswerSchema } from '../lib/operator/operator-call.ts';
import { type FunctionTarget, invokeFunction } from './invoke-function.ts';
import { proveIdentity } from './prove-identity.ts';

/** Whether a command may be carried out twice: it only reads, or skips the lines that are there already. */
const isRepeatable = (verb: string): boolean => /\b(list|show|find|check|export|import)$/.test(verb);

/** Runs a command in the operator function. @throws Error saying why nothing was changed, or that nobody knows */
export async function callOperator(
  target: FunctionTarget,
  noun: string,
  verb: string,
  flags: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const command = { noun, verb, flags };
  const call: OperatorCall = { ...command, proof: await proveIdentity(target, command) };
  const attempts = isRepeatable(verb) ? {} : { maxAttempts: 1 };
  const result = await invokeFunction(target, call, attempts).catch((error: unknown) => {
    throw isLost(error) && !isRepeatable(verb) ? new Error(lostAnswer(`${noun} ${verb}`)) : error;
  });
  const answer = v.parse(operatorAnswerSchema, result);
  if ('error' in answer) throw new Error(answer.error);
  return answer.result;
}

/** Whether a call may have arrived all the same: the connection broke, or the answer came from something between. */
function isLost(error: unknown): boolean {
  const { name, $metadata }: { name?: string; $metadata?: { httpStatusCode?: number } } = Object(error);
  return name === 'TimeoutError' || ($metadata?.httpStatusCode ?? 0) >= 500;
}

const lostAnswer = (command: string): string =>
  `No answer came, so ${command} may have been carried out: its audit line says so. Look there before you run it again.`;
