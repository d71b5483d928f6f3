import * as v from 'valibot';
import { importResultSchema } from '../../lib/schema/import-lines.ts';
import { idPairSchema } from './id-map.ts';
import { mostNamed } from './read-lines.ts';

/** An issuer, or namespace, of some lines, and whether the provider settings name it. */
const issuerSchema = v.object({
  provider: v.string(),
  issuer: v.string(),
  known: v.boolean(),
  lines: v.number(),
});
type CountedIssuer = v.InferOutput<typeof issuerSchema>;

/**
 * The outcome of a batch: with ids for access requests, and with issuers for a dry run of people.
 */
export const batchResultSchema = v.object({
  ...importResultSchema.entries,
  ids: v.optional(v.array(idPairSchema), []),
  issuers: v.optional(v.array(issuerSchema), []),
});
type BatchResult = v.InferOutput<typeof batchResultSchema>;

/** The most reasons that are told apart: some name lines. */
const mostReasons = 200;

/** Adds up the lines that each field was counted in. */
class FieldLines {
  readonly #lines = new Map<string, number>();

  add(counted: BatchResult['ignored']): void {
    for (const { field, lines } of counted)
      this.#lines.set(field, (this.#lines.get(field) ?? 0) + lines);
  }

  /** The fields with their lines; undefined for none. */
  get shown() {
    const fields = [...this.#lines].map(([field, lines]) => ({ field, lines }));
    return fields.length > 0 ? fields : undefined;
  }
}

/** Counts what became of the lines of a file, and why some were refused. */
export class ImportSummary {
  readonly counts = { lines: 0, added: 0, already_there: 0, refused: 0 };
  readonly #reasons = new Map<string, { reason: string; count: number; lines: number[] }>();
  readonly #ignored = new FieldLines();
  readonly #leftOut = new FieldLines();
  readonly #issuers = new Map<string, CountedIssuer>();

  /** Counts a line that was refused; the first ones for each reason are named. */
  refuse(line: number, given: string): void {
    const isToldApart = this.#reasons.has(given) || this.#reasons.size < mostReasons;
    const reason = isToldApart ? given : 'Other reasons.';
    const known = this.#reasons.get(reason) ?? { reason, count: 0, lines: [] };
    known.count += 1;
    if (known.lines.length < mostNamed) known.lines.push(line);
    this.#reasons.set(reason, known);
    this.counts.refused += 1;
  }

  /**
   * Adds the outcome of a batch.
   * @param lines how many it had, with those that were not sent
   */
  add(result: BatchResult, lines: number): void {
    for (const { line, reason } of result.refused) this.refuse(line, reason);
    this.#ignored.add(result.ignored);
    this.#leftOut.add(result.left_out);
    for (const issuer of result.issuers) this.#addIssuer(issuer);
    this.counts.lines += lines;
    this.counts.added += result.added;
    this.counts.already_there += result.repeated;
  }

  #addIssuer({ lines, ...issuer }: CountedIssuer): void {
    const key = JSON.stringify(issuer);
    const before = this.#issuers.get(key)?.lines ?? 0;
    this.#issuers.set(key, { ...issuer, lines: before + lines });
  }

  /**
   * The result that the command prints.
   * @param idsFile that holds the new ids, if the command wrote one
   */
  shown(idsFile: string | undefined) {
    const summary = {
      ...this.counts,
      reasons: [...this.#reasons.values()],
      ignored_fields: this.#ignored.shown,
      left_out_fields: this.#leftOut.shown,
      ids_file: idsFile,
    };
    const issuers = [...this.#issuers.values()];
    if (issuers.length === 0) return summary;
    const unknown = issuers.filter(({ known }) => !known);
    return { ...summary, issuers, unknown_issuers: unknown.length };
  }
}
