import { type Stats, statSync } from 'node:fs';
import * as v from 'valibot';
import { type ImportLine, type ImportResult, importResultSchema } from '../../lib/schema/import-lines.ts';
import type { Progress } from './progress-bar.ts';
import { type ReadLine, type Rewrite, readLines } from './read-lines.ts';

/** The limits of a batch: Lambda accepts 6 MB, and the function should need no more than 10 seconds. */
const mostLines = 100;
const mostCharacters = 500_000;
const longestLine = 250_000;
/** The most rejected lines that are named for each reason. */
const mostNamed = 20;

/** The result for a file. */
export interface Summary {
  lines: number;
  added: number;
  already_there: number;
  refused: number;
  /** Reasons why lines were rejected, with how many there were and the numbers of the first 20. */
  reasons: { reason: string; count: number; lines: number[] }[];
}

export type Send = (batch: ImportLine[]) => Promise<Record<string, unknown>>;

/**
 * Sends the lines of a file in batches, one after the other; empty lines are skipped.
 * @param rewrite what becomes of a line before it is sent, or why it is not sent
 * @throws Error naming the last line that was sent; the same file can be sent again
 */
export async function sendLines(
  file: string,
  send: Send,
  { progress, rewrite = (text) => ({ text }) }: { progress: Progress; rewrite?: Rewrite | undefined },
): Promise<Summary> {
  const size = sizeOf(file);
  const reasons = new Map<string, Summary['reasons'][number]>();
  const counts = { lines: 0, added: 0, already_there: 0, refused: 0 };
  const refuse = (line: number, reason: string): void => {
    const known = reasons.get(reason) ?? { reason, count: 0, lines: [] };
    known.count += 1;
    if (known.lines.length < mostNamed) known.lines.push(line);
    reasons.set(reason, known);
    counts.refused += 1;
  };
  let sent = 0;
  let last = 0;
  for await (const read of batchesOf(readLines(file, rewrite))) {
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
    last = read.at(-1)?.line ?? last;
    sent += read.reduce((bytes, { text }) => bytes + Buffer.byteLength(text) + 1, 0);
    progress(Math.min(sent / size, 0.99), counts.lines);
  }
  progress(1, counts.lines);
  return { ...counts, reasons: [...reasons.values()] };
}

async function sendBatch(send: Send, batch: ImportLine[], last: number): Promise<ImportResult> {
  try {
    return v.parse(importResultSchema, await send(batch));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The import stopped after line ${last}. Run the command again to continue. ${why}`);
  }
}

async function* batchesOf(lines: AsyncIterable<ReadLine>): AsyncGenerator<ReadLine[]> {
  let batch: ReadLine[] = [];
  let characters = 0;
  for await (const line of lines) {
    batch.push(line);
    characters += line.text.length;
    if (batch.length === mostLines || characters > mostCharacters) {
      yield batch;
      batch = [];
      characters = 0;
    }
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
