import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import { jsonObject, unprocessableEntity, validated } from './validation.ts';

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

/** The reason for a line that holds other JSON. */
export const lineMessage = 'The line must be a JSON object.';
const objectSchema = jsonObject(lineMessage);

/** Reads the JSON object of a line; the reason names each field that is wrong. */
export function readLine<Schema extends v.GenericSchema>(
  text: string,
  schema: Schema,
): Read<v.InferOutput<Schema>> {
  try {
    const object = validated(objectSchema, JSON.parse(text), unprocessableEntity);
    return { content: validated(schema, object, unprocessableEntity) };
  } catch (error) {
    if (error instanceof SyntaxError) return { reason: 'The line is not JSON.' };
    if (error instanceof ServiceError) return { reason: error.message };
    throw error;
  }
}
