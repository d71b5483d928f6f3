import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import { ignoredFields, leftOutFields } from './ignored-fields.ts';
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

/** A field, and how many lines it is counted in. */
const fieldCountSchema = v.object({ field: v.string(), lines: v.number() });

export const importResultSchema = v.object({
  added: v.number(),
  /** Lines whose content an earlier import has added. */
  repeated: v.number(),
  refused: v.array(v.object({ line: v.number(), reason: v.string() })),
  /** Fields of accepted lines that mean nothing to an import, each with how many lines have it. */
  ignored: v.optional(v.array(fieldCountSchema), []),
  /** Fields of accepted lines whose value could not be used, counted likewise. */
  left_out: v.optional(v.array(fieldCountSchema), []),
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

/** The most fields of a batch that are named. */
const mostFields = 100;

/** Counts the lines that a field is named for. */
class FieldCounts {
  readonly #lines = new Map<string, number>();

  add(fields: string[]): void {
    for (const field of new Set(fields)) {
      const isNamed = this.#lines.has(field) || this.#lines.size < mostFields;
      if (isNamed) this.#lines.set(field, (this.#lines.get(field) ?? 0) + 1);
    }
  }

  get shown() {
    return [...this.#lines].map(([field, lines]) => ({ field, lines }));
  }
}

/**
 * A line without its fields that are null: exports of databases have null for what is missing.
 */
const withoutNulls = (line: object): object =>
  Object.fromEntries(Object.entries(line).filter(([, value]) => value !== null));

/**
 * Reads JSON objects.
 * @returns those to import, the result, which refuses the others, and `note`, which adds a line's
 *   outcome
 */
export function readLines<Schema extends v.GenericSchema>(lines: ImportLine[], schema: Schema) {
  const result: ImportResult = { added: 0, repeated: 0, refused: [], ignored: [], left_out: [] };
  const ignored = new FieldCounts();
  const leftOut = new FieldCounts();
  const note = (line: number, outcome: LineOutcome): void => {
    if (typeof outcome === 'string') result[outcome] += 1;
    else result.refused.push({ line, ...outcome });
    result.refused.sort((a, b) => a.line - b.line);
  };
  const read = lines.flatMap(({ line, text, repetition }) => {
    try {
      const object = validated(objectSchema, JSON.parse(text), unprocessableEntity);
      const sent = withoutNulls(object);
      const content = validated(schema, sent, unprocessableEntity);
      ignored.add(ignoredFields(sent, content));
      leftOut.add(leftOutFields(sent, content));
      return [{ line, text, repetition, content }];
    } catch (error) {
      const isJson = !(error instanceof SyntaxError);
      note(line, isJson ? refusal(error) : { reason: 'The line is not JSON.' });
      return [];
    }
  });
  result.ignored = ignored.shown;
  result.left_out = leftOut.shown;
  return { read, result, note };
}
