import * as v from 'valibot';
import { ServiceError } from '../errors/service-error.ts';

/** Lines of a file to import. */
export const importLinesSchema = v.array(
  v.object({
    /** The number of the line in the file, from 1. */
    line: v.number(),
    text: v.string(),
    /** The number of earlier lines of the file with the same text. */
    repetition: v.number(),
  }),
);
export type ImportLine = v.InferOutput<typeof importLinesSchema>[number];

/** The outcome for each of them. */
export const importResultSchema = v.object({
  added: v.number(),
  /** Lines whose content an earlier import has added. */
  repeated: v.number(),
  refused: v.array(v.object({ line: v.number(), reason: v.string() })),
});
export type ImportResult = v.InferOutput<typeof importResultSchema>;

/** The content of a line, or the reason why it is rejected. */
export type Read<Content> = { content: Content } | { reason: string };

/** Reads the JSON of a line. @param toContent throws ServiceError for a value that is rejected */
export function readLine<Content>(text: string, toContent: (value: unknown) => Content): Read<Content> {
  try {
    return { content: toContent(JSON.parse(text)) };
  } catch (error) {
    if (error instanceof SyntaxError) return { reason: 'The line is not JSON.' };
    if (error instanceof ServiceError) return { reason: error.message };
    throw error;
  }
}
