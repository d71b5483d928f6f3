import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import * as v from 'valibot';
import { type ImportLine, type ImportResult, importResult } from '../../lib/access-requests/import-lines.ts';
import type { Progress } from './progress-bar.ts';

/** A batch is at most this: Lambda takes 6 MB, and the function has seconds. */
const mostLines = 100;
const mostCharacters = 500_000;
const longestLine = 250_000;
/** How many of the refused lines are named for each reason. */
const mostNamed = 20;

/** What became of a file. */
interface Summary {
  lines: number;
  added: number;
  already_there: number;
  refused: number;
  /** Why lines were refused, how many, and the numbers of the first of them. */
  reasons: { reason: string; count: number; lines: number[] }[];
}

/**
 * Sends the lines of a file in batches, one after the other; empty lines are skipped.
 * @throws Error saying up to which line all is done; the same file can be sent again
 */
export async function sendLines(
  file: string,
  send: (batch: ImportLine[]) => Promise<Record<string, unknown>>,
  progress: Progress,
): Promise<Summary> {
  const size = sizeOf(file);
  const summary: Summary = { lines: 0, added: 0, already_there: 0, refused: 0, reasons: [] };
  let sent = 0;
  let last = 0;
  for await (const batch of batchesOf(file)) {
    const tooLong = batch.filter(({ text }) => text.length > longestLine);
    const result = await sendBatch(
      send,
      batch.filter((line) => !tooLong.includes(line)),
      last,
    );
    summary.lines += batch.length;
    summary.added += result.added;
    summary.already_there += result.repeated;
    for (const { line } of tooLong)
      refuse(summary, line, `The line is longer than ${longestLine} characters.`);
    for (const { line, reason } of result.refused) refuse(summary, line, reason);
    last = batch.at(-1)?.line ?? last;
    sent += batch.reduce((bytes, { text }) => bytes + Buffer.byteLength(text) + 1, 0);
    progress(Math.min(sent / size, 0.99), summary.lines);
  }
  progress(1, summary.lines);
  return summary;
}

async function sendBatch(
  send: (batch: ImportLine[]) => Promise<Record<string, unknown>>,
  batch: ImportLine[],
  last: number,
): Promise<ImportResult> {
  try {
    return v.parse(importResult, await send(batch));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`Stopped; lines 1 to ${last} are done. Run it again to go on. ${why}`);
  }
}

async function* batchesOf(file: string): AsyncGenerator<ImportLine[]> {
  const repetitions = new Map<string, number>();
  let batch: ImportLine[] = [];
  let characters = 0;
  let line = 0;
  for await (const read of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    line += 1;
    const text = read.replace(/^\ufeff/, '').trim();
    if (text === '') continue;
    const digest = createHash('sha256').update(text).digest('base64');
    const repetition = repetitions.get(digest) ?? 0;
    repetitions.set(digest, repetition + 1);
    batch.push({ line, text, repetition });
    characters += text.length;
    if (batch.length === mostLines || characters > mostCharacters) {
      yield batch;
      batch = [];
      characters = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

function refuse(summary: Summary, line: number, reason: string): void {
  summary.refused += 1;
  const known = summary.reasons.find((one) => one.reason === reason);
  if (!known) summary.reasons.push({ reason, count: 1, lines: [line] });
  else {
    known.count += 1;
    if (known.lines.length < mostNamed) known.lines.push(line);
  }
}

function sizeOf(file: string): number {
  try {
    return Math.max(statSync(file).size, 1);
  } catch {
    throw new Error(`The file ${file} cannot be read.`);
  }
}
