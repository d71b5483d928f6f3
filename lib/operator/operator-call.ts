import { createHash } from 'node:crypto';
import * as v from 'valibot';

/** The event that the operator function is invoked with; anybody with the permission may send another. */
export const operatorCallSchema = v.object({
  noun: v.string(),
  verb: v.string(),
  flags: v.custom<Record<string, unknown>>((flags) => flags instanceof Object && !Array.isArray(flags)),
  /** The proof of who calls: the query of a presigned GetCallerIdentity request, signed for this command alone. */
  proof: v.optional(v.unknown()),
});
export type OperatorCall = v.InferOutput<typeof operatorCallSchema>;

/** The command that an operator wants carried out. */
export type OperatorCommand = Omit<OperatorCall, 'proof'>;

/** The answer to a command: one JSON object, or why nothing was changed. */
export const operatorAnswerSchema = v.union([
  v.object({ result: v.record(v.string(), v.unknown()) }),
  v.object({ error: v.string() }),
]);
export type OperatorAnswer = v.InferOutput<typeof operatorAnswerSchema>;

/** The query of the request to STS. @see AWS STS API reference, "GetCallerIdentity" */
export const identityQuestion = { Action: 'GetCallerIdentity', Version: '2011-06-15' } as const;

/** The signed header with the hash of the command, so that a proof is worth nothing for another one. */
export const commandHeader = 'x-login-service-command';

/** The host of STS in a region, which the signature covers too. */
export const stsHost = (region: string): string =>
  `sts.${region}.amazonaws.com${region.startsWith('cn-') ? '.cn' : ''}`;

export const hashOfCommand = (functionName: string, { noun, verb, flags }: OperatorCommand): string =>
  createHash('sha256')
    .update(JSON.stringify([functionName, noun, verb, flags]))
    .digest('hex');
