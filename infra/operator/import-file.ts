import { existsSync, readFileSync, type Stats, statSync, writeFileSync } from 'node:fs';
import * as v from 'valibot';
import type { Grouping } from '../../lib/operator/command.ts';
import { type ImportLine, type ImportResult, importResultSchema } from '../../lib/schema/import-lines.ts';
import type { CommandLine } from './parse-command-line.ts';
import { groupLines, type ReadLine, type Rewrite, readLines } from './read-lines.ts';

/**
 * Sends the lines of a file. With --ids-from, each event first gets the new id of its access request; with --ids-to, the
 * ids that an import gave are added to a file, whole or not at all.
 * @throws Error when it has to stop; the same command can be run again
 */
export async function runImport(
  { file, files, grouping }: { file: string; files: CommandLine['files']; grouping?: Grouping | undefined },
  send: Send,
  progress: Progress,
) {
  if (grouping) return importPeople(file, grouping, send, progress);
  const { 'ids-from': idsFrom, 'ids-to': idsTo } = files;
  const rewrite = idsFrom === undefined ? undefined : withNewId(readIdMap('--ids-from', idsFrom));
  if (idsTo === undefined) return sendLines(file, send, { progress, rewrite });
  const ids = existsSync(idsTo) ? readIdMap('--ids-to', idsTo) : new Map<string, number>();
  const sendAndNote: Send = async (batch) => {
    const result = await send(batch);
    for (const { id, access_request_id } of v.parse(withIdsSchema, result).ids)
      ids.set(id, access_request_id);
    return result;
  };
  const summary = await sendLines(file, sendAndNote, { progress, rewrite });
  const lines = [...ids].map(([id, access_request_id]) => `${JSON.stringify({ id, access_request_id })}\n`);
  writeFileSync(idsTo, lines.join(''));
  return summary;
}

/** Sends the lines of people. A dry run says how many lines there are of each issuer. */
async function importPeople(file: string, grouping: Grouping, send: Send, progress: Progress) {
  const issuers = new Map<string, v.InferOutput<typeof issuerSchema>>();
  const sendAndCount: Send = async (batch) => {
    const result = await send(batch);
    for (const { lines, ...about } of v.parse(withIssuersSchema, result).issuers) {
      const name = JSON.stringify(about);
      issuers.set(name, { ...about, lines: (issuers.get(name)?.lines ?? 0) + lines });
    }
    return result;
  };
  const summary = await sendLines(file, sendAndCount, { progress, grouping });
  if (issuers.size === 0) return summary;
  const counted = [...issuers.values()];
  return { ...summary, issuers: counted, unknown_issuers: counted.filter(({ known }) => !known).length };
}

/** An issuer, or namespace, of lines, and whether the provider settings name it. */
const issuerSchema = v.object({
  provider: v.string(),
  issuer: v.string(),
  known: v.boolean(),
  lines: v.number(),
});
const withIssuersSchema = v.object({ issuers: v.optional(v.array(issuerSchema), []) });

/** The limits of a batch: Lambda accepts 6 MB, and the function should need no more than 10 seconds. */
const mostLines = 100;
const mostCharacters = 500_000;
const longestLine = 250_000;
/** The most rejected lines that are named for each reason. */
const mostNamed = 20;
/** The most reasons that are told apart: some name lines. */
const mostReasons = 200;

interface Summary {
  lines: number;
  added: number;
  already_there: number;
  refused: number;
  /** Reasons why lines were rejected, with how many there were and the numbers of the first 20. */
  reasons: { reason: string; count: number; lines: number[] }[];
}

type Send = (batch: ImportLine[]) => Promise<Record<string, unknown>>;

/**
 * Sends the lines of a file in batches, one after the other; empty lines are skipped.
 * @param grouping of lines that go into one batch, whose order is then another
 * @param rewrite what becomes of a line before it is sent, or why it is not sent
 * @throws Error naming the last line that was sent, or with a grouping how many were; the same file can be sent again
 * @public Tests call it in a process of its own.
 */
export async function sendLines(
  file: string,
  send: Send,
  {
    progress,
    rewrite = (text) => ({ text }),
    grouping,
  }: { progress: Progress; rewrite?: Rewrite | undefined; grouping?: Grouping | undefined },
): Promise<Summary> {
  const size = sizeOf(file);
  const reasons = new Map<string, Summary['reasons'][number]>();
  const counts = { lines: 0, added: 0, already_there: 0, refused: 0 };
  const refuse = (line: number, given: string): void => {
    const reason = reasons.has(given) || reasons.size < mostReasons ? given : 'Other reasons.';
    const known = reasons.get(reason) ?? { reason, count: 0, lines: [] };
    known.count += 1;
    if (known.lines.length < mostNamed) known.lines.push(line);
    reasons.set(reason, known);
    counts.refused += 1;
  };
  let sent = 0;
  let last = 'line 0';
  const groups = grouping ? groupLines(file, grouping) : readLines(file, rewrite);
  for await (const read of batchesOf(groups)) {
    const batch: ImportLine[] = [];
    const tooLong = `The line is longer than ${longestLine} characters.`;
    for (const { line, text, repetition, reason } of read) {
      if (reason !== undefined) refuse(line, reason);
      else if (text.length > longestLine) refuse(line, tooLong);
      else batch.push({ line, text, repetition });
    }
    const result = await sendBatch(send, batch, last);
    for (const { line, reason } of result.refused) refuse(line, reason);
    counts.lines += read.length;
    counts.added += result.added;
    counts.already_there += result.repeated;
    last = grouping ? `${counts.lines} lines` : `line ${read.at(-1)?.line}`;
    sent += read.reduce((bytes, { text }) => bytes + Buffer.byteLength(text) + 1, 0);
    progress(Math.min(sent / size, 0.99), counts.lines);
  }
  progress(1, counts.lines);
  return { ...counts, reasons: [...reasons.values()] };
}

async function sendBatch(send: Send, batch: ImportLine[], last: string): Promise<ImportResult> {
  try {
    return v.parse(importResultSchema, await send(batch));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The import stopped after ${last}. Run the command again to continue. ${why}`);
  }
}

/** Groups of lines, as many as a batch may have. A group is never divided. */
async function* batchesOf(groups: AsyncIterable<ReadLine[]>): AsyncGenerator<ReadLine[]> {
  let batch: ReadLine[] = [];
  let characters = 0;
  for await (const group of groups) {
    if (batch.length > 0 && (batch.length + group.length > mostLines || characters > mostCharacters)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(...group);
    for (const { text } of group) characters += text.length;
  }
  if (batch.length > 0) yield batch;
}

function sizeOf(file: string): number {
  let found: Stats;
  try {
    found = statSync(file);
  } catch {
    throw new Error(`The file ${file} cannot be read.`);
  }
  if (found.isDirectory()) throw new Error(`${file} is a folder, not a file.`);
  return Math.max(found.size, 1);
}

/** A line of a map of ids: the id that an access request had, and the one that it has now. */
const idPairSchema = v.object({ id: v.string(), access_request_id: v.number() });
const withIdsSchema = v.object({ ids: v.array(idPairSchema) });

/** The map in a file: new ids by the ids before. @param flag that names the file @throws Error when it cannot be read */
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

/** A line with the new id of its access request, or why it has none. A line that is no event stays as it is. */
const withNewId =
  (ids: Map<string, number>): Rewrite =>
  (text) => {
    const event = v.safeParse(jsonSchema, text).output;
    if (!(event instanceof Object) || !('access_request_id' in event)) return { text };
    const access_request_id = ids.get(String(event.access_request_id));
    if (access_request_id === undefined) return { reason: 'The map of ids lacks its access_request_id.' };
    return { text: JSON.stringify({ ...event, access_request_id }) };
  };

const jsonSchema = v.pipe(v.string(), v.parseJson());

type Progress = (share: number, lines: number) => void;

/** A bar on standard error, when that is a terminal; otherwise nothing. */
export function progressBar(stream: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr): Progress {
  if (!stream.isTTY) return () => undefined;
  return (share, lines) => {
    const width = 30;
    const done = Math.round(share * width);
    const bar = '#'.repeat(done) + '.'.repeat(width - done);
    stream.write(`\r[${bar}] ${Math.floor(share * 100)} %  ${lines} lines${share === 1 ? '\n' : ''}`);
  };
}
