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
