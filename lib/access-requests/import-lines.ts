import * as v from 'valibot';

/** Lines of a file of events. */
export const importLines = v.array(
  v.object({
    /** Its number in the file, from 1. */
    line: v.number(),
    text: v.string(),
    /** How many lines before it in the file say the same. */
    repetition: v.number(),
  }),
);
export type ImportLine = v.InferOutput<typeof importLines>[number];

/** What became of them. */
export const importResult = v.object({
  added: v.number(),
  /** Lines whose events an import has added before. */
  repeated: v.number(),
  refused: v.array(v.object({ line: v.number(), reason: v.string() })),
});
export type ImportResult = v.InferOutput<typeof importResult>;
