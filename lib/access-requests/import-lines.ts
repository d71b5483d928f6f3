import * as v from 'valibot';

/** Lines of a file of events. */
export const importLines = v.array(
  v.object({
    /** Its number in the file, from 1. */
    line: v.number(),
    text: v.string(),
    /** How many earlier lines of the file have the same text. */
    repetition: v.number(),
  }),
);
export type ImportLine = v.InferOutput<typeof importLines>[number];

/** The outcome for each of them. */
export const importResult = v.object({
  added: v.number(),
  /** Lines whose events an earlier import has added. */
  repeated: v.number(),
  refused: v.array(v.object({ line: v.number(), reason: v.string() })),
});
export type ImportResult = v.InferOutput<typeof importResult>;
