import * as v from 'valibot';

/** What an operator wants done. */
export interface OperatorCommand {
  noun: string;
  verb: string;
  flags: Record<string, unknown>;
}

/** The event that the operator function is invoked with. */
export interface OperatorCall extends OperatorCommand {
  /** Who calls: the query of a presigned GetCallerIdentity request, signed for this command alone. */
  proof: string;
}

/** Its answer: one JSON object, or why nothing was changed. */
export const operatorAnswer = v.union([
  v.object({ result: v.record(v.string(), v.unknown()) }),
  v.object({ error: v.string() }),
]);
export type OperatorAnswer = v.InferOutput<typeof operatorAnswer>;
