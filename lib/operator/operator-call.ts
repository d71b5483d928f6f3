import * as v from 'valibot';

/** The event that the operator function is invoked with. */
export interface OperatorCall {
  noun: string;
  verb: string;
  flags: Record<string, unknown>;
}

/** Its answer: one JSON object, or why nothing was changed. */
export const operatorAnswer = v.union([
  v.object({ result: v.record(v.string(), v.unknown()) }),
  v.object({ error: v.string() }),
]);
export type OperatorAnswer = v.InferOutput<typeof operatorAnswer>;
