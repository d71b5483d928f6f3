import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import { ignoredFields } from './ignored-fields.ts';
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

export const importResultSchema = v.object({
  added: v.number(),
  /** Lines whose content an earlier import has added. */
  repeated: v.number(),
  refused: v.array(v.object({ line: v.number(), reason: v.string() })),
  /** Fields of accepted lines that mean nothing to an import, each with how many lines have it. */
  ignored: v.optional(v.array(v.object({ field: v.string(), lines: v.number() })), []),
});
export type ImportResult = v.InferOutput<typeof importResultSchema>;

const objectSchema = jsonObject('The line must be a JSON object.');

/** The outcome for a line: added, already added by an earlier import, or refused. */
export type LineOutcome = 'added' | 'repeated' | { reason: string };

/**
 * The outcome for a line with a ServiceError.
 * @throws any other error
 */
export function refusal(error: unknown): LineOutcome {
  if (error instanceof ServiceError) return { reason: error.message };
  throw error;
}

/** The most ignored fields of a batch that are named. */
const mostIgnored = 100;

/**
 * Reads JSON objects.
 * @returns those to import, the result, which refuses the others, and `note`, which adds a line's
 *   outcome
 */
export function readLines<Schema extends v.GenericSchema>(lines: ImportLine[], schema: Schema) {
  const result: ImportResult = { added: 0, repeated: 0, refused: [], ignored: [] };
  const ignored = new Map<string, { field: string; lines: number }>();
  const noteIgnored = (field: string): void => {
    const counted = ignored.get(field) ?? { field, lines: 0 };
    counted.lines += 1;
    if (ignored.size < mostIgnored) ignored.set(field, counted);
    result.ignored = [...ignored.values()];
  };
  const note = (line: number, outcome: LineOutcome): void => {
    if (typeof outcome === 'string') result[outcome] += 1;
    else result.refused.push({ line, ...outcome });
    result.refused.sort((a, b) => a.line - b.line);
  };
  const read = lines.flatMap(({ line, text, repetition }) => {
    try {
      const object = validated(objectSchema, JSON.parse(text), unprocessableEntity);
      const content = validated(schema, object, unprocessableEntity);
      for (const field of new Set(ignoredFields(object, content))) noteIgnored(field);
      return [{ line, text, repetition, content }];
    } catch (error) {
      const isJson = !(error instanceof SyntaxError);
      note(line, isJson ? refusal(error) : { reason: 'The line is not JSON.' });
      return [];
    }
  });
  return { read, result, note };
}
