import { closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs';
import * as v from 'valibot';
import type { Grouping } from '../../lib/operator/command.ts';
import { type ImportLine, importResultSchema } from '../../lib/schema/import-lines.ts';
import type { CommandLine } from './parse-command-line.ts';
import { mostLines, mostNamed, type ReadLine, readLines } from './read-lines.ts';
import type { Output } from './readable.ts';

/** A line of a map of ids: the former and the new id of an access request. */
const idPairSchema = v.object({ id: v.string(), access_request_id: v.number() });

/** An issuer, or namespace, of some lines, and whether the provider settings name it. */
const issuerSchema = v.object({
  provider: v.string(),
  issuer: v.string(),
  known: v.boolean(),
  lines: v.number(),
});

/**
 * The outcome of a batch: with ids for access requests, and with issuers for a dry run of people.
 */
const batchResultSchema = v.object({
  ...importResultSchema.entries,
  ids: v.optional(v.array(idPairSchema), []),
  issuers: v.optional(v.array(issuerSchema), []),
});

/** The characters of a batch after which the next group begins a new one: Lambda accepts 6 MB. */
const mostCharacters = 500_000;
/** The most reasons that are told apart: some name lines. */
const mostReasons = 200;

interface ImportOptions {
  file: string;
  files: CommandLine['files'];
  grouping?: Grouping | undefined;
  /** Whether nothing is written, not even a map of ids. */
  isDryRun?: boolean;
}

/**
 * Sends the lines of a file in batches, one after the other; empty lines are skipped. With
 * --ids-from, each event first gets the new id of its access request; with --ids-to, all new ids
 * are added to a file at the end.
 * @param grouping of lines that go into one batch, which changes their order
 * @throws Error with the number of lines that were sent; the same command can be run again
 */
export async function runImport(
  { file, files, grouping, isDryRun = false }: ImportOptions,
  send: (batch: ImportLine[]) => Promise<Record<string, unknown>>,
  progress: (share: number, lines: number) => void,
) {
  const { 'ids-from': idsFrom } = files;
  const idsTo = isDryRun ? undefined : files['ids-to'];
  const rewrite = idsFrom === undefined ? undefined : withNewId(readIdMap('--ids-from', idsFrom));
  if (idsTo !== undefined) requireWritable('--ids-to', idsTo);
  const ids = idsTo === undefined ? new Map<string, number>() : readIdMap('--ids-to', idsTo);
  const issuers = new Map<string, v.InferOutput<typeof issuerSchema>>();
  const reasons = new Map<string, { reason: string; count: number; lines: number[] }>();
  const ignored = new Map<string, number>();
  const counts = { lines: 0, added: 0, already_there: 0, refused: 0 };
  const refuse = (line: number, given: string): void => {
    const reason = reasons.has(given) || reasons.size < mostReasons ? given : 'Other reasons.';
    const known = reasons.get(reason) ?? { reason, count: 0, lines: [] };
    known.count += 1;
    if (known.lines.length < mostNamed) known.lines.push(line);
    reasons.set(reason, known);
    counts.refused += 1;
  };
  for await (const batch of batchesOf(readLines(file, rewrite, grouping))) {
    for (const { line, reason } of batch) if (reason !== null) refuse(line, reason);
    const accepted = batch.filter(({ reason }) => reason === null);
    const lines = accepted.map(({ line, text, repetition }) => ({ line, text, repetition }));
    const result = await send(lines)
      .then((answer) => v.parse(batchResultSchema, answer))
      .catch(({ message }: Error) => {
        const stopped = `The import stopped after ${counts.lines} lines. Run the command again to continue.`;
        throw new Error(`${stopped} ${message}`);
      });
    for (const { line, reason } of result.refused) refuse(line, reason);
    for (const { id, access_request_id } of result.ids) ids.set(id, access_request_id);
    for (const { field, lines } of result.ignored)
      ignored.set(field, (ignored.get(field) ?? 0) + lines);
    for (const { lines, ...about } of result.issuers) {
      const name = JSON.stringify(about);
      issuers.set(name, { ...about, lines: (issuers.get(name)?.lines ?? 0) + lines });
    }
    counts.lines += batch.length;
    counts.added += result.added;
    counts.already_there += result.repeated;
    progress(counts.lines / (batch[0]?.total ?? 1), counts.lines);
  }
  if (idsTo !== undefined) {
    const pairs = [...ids].map(([id, access_request_id]) =>
      JSON.stringify({ id, access_request_id }),
    );
    replaceContent(idsTo, pairs.map((pair) => `${pair}\n`).join(''));
  }
  const ignored_fields = [...ignored].map(([field, lines]) => ({ field, lines }));
  const summary = {
    ...counts,
    reasons: [...reasons.values()],
    ignored_fields: ignored_fields.length > 0 ? ignored_fields : undefined,
    ids_file: idsTo,
  };
  if (issuers.size === 0) return summary;
  const counted = [...issuers.values()];
  return {
    ...summary,
    issuers: counted,
    unknown_issuers: counted.filter(({ known }) => !known).length,
  };
}

/** Lines, as many as a batch may have. A group is never divided. */
async function* batchesOf(lines: AsyncIterable<ReadLine>): AsyncGenerator<ReadLine[]> {
  let batch: ReadLine[] = [];
  let characters = 0;
  for await (const read of lines) {
    const isFull = batch.length + read.size > mostLines || characters > mostCharacters;
    if (read.position === 1 && isFull) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(read);
    characters += read.text.length;
  }
  if (batch.length > 0) yield batch;
}

const { O_RDWR, O_CREAT, O_NOFOLLOW, O_TRUNC } = constants;
/**
 * Opens a file, or creates it, but follows no symbolic link: what that names may be another file of
 * the operator.
 */
const unfollowed = O_RDWR | O_CREAT | O_NOFOLLOW;

/**
 * Creates a file if it is missing, before the import begins.
 * @throws Error for one that cannot be written
 */
function requireWritable(flag: string, file: string): void {
  try {
    closeSync(openSync(file, unfollowed));
  } catch (error) {
    const isLink = Object(error).code === 'ELOOP';
    const why = isLink ? 'is a symbolic link: name the file itself' : 'cannot be written';
    throw new Error(`${flag}: the file ${file} ${why}.`);
  }
}

function replaceContent(file: string, content: string): void {
  const descriptor = openSync(file, unfollowed | O_TRUNC);
  writeFileSync(descriptor, content);
  closeSync(descriptor);
}

/**
 * Reads a map of new ids by the former ones.
 * @param flag that names the file
 * @throws Error when it cannot be read
 */
function readIdMap(flag: string, file: string): Map<string, number> {
  try {
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
    const pairs = lines.map((line) => v.parse(idPairSchema, JSON.parse(line)));
    return new Map(pairs.map(({ id, access_request_id }) => [id, access_request_id]));
  } catch (error) {
    const why = 'code' in Object(error) ? 'cannot be read' : 'is no map of ids';
    throw new Error(`${flag}: the file ${file} ${why}.`);
  }
}

/** Gives a line the new id of its access request. A line that is no event stays as it is. */
const withNewId = (ids: Map<string, number>) => (text: string) => {
  const event = v.safeParse(v.pipe(v.string(), v.parseJson()), text).output;
  if (!(event instanceof Object) || !('access_request_id' in event)) return { text };
  const access_request_id = ids.get(String(event.access_request_id));
  if (access_request_id === undefined)
    return { reason: 'The map of ids lacks its access_request_id.' };
  return { text: JSON.stringify({ ...event, access_request_id }) };
};

export const progressOn = (stream: Output) => (share: number, lines: number) => {
  const end = share === 1 ? '\n' : '';
  if (stream.isTTY) stream.write(`\r${Math.floor(share * 100)} %  ${lines} lines${end}`);
};
