import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import * as v from 'valibot';
import { type ImportLine, type ImportResult, importResult } from '../../lib/schema/import-lines.ts';
import type { Progress } from './progress-bar.ts';

/** The limits of a batch: Lambda accepts 6 MB, and the function should need no more than 10 seconds. */
const mostLines = 100;
const mostCharacters = 500_000;
const longestLine = 250_000;
/** How many of the rejected lines are named for each reason. */
const mostNamed = 20;

type Rewrite = (text: string) => { text: string } | { reason: string };

/** The result for a file. */
export interface Summary {
  lines: number;
  added: number;
  already_there: number;
  refused: number;
  /** Why lines were rejected, how many, and the numbers of the first 20. */
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
  const refused: ImportResult['refused'] = [];
  const counts = { lines: 0, added: 0, already_there: 0 };
  let sent = 0;
  let last = 0;
  for await (const read of batchesOf(file, rewrite)) {
    const batch = read.filter((line) => 'repetition' in line);
    refused.push(...read.filter((line) => 'reason' in line));
    const { short = [], long = [] } = Object.groupBy(batch, ({ text }) =>
      text.length > longestLine ? 'long' : 'short',
    );
    const result = await sendBatch(send, short, last);
    counts.lines += read.length;
    counts.added += result.added;
    counts.already_there += result.repeated;
    const reason = `The line is longer than ${longestLine} characters.`;
    refused.push(...long.map(({ line }) => ({ line, reason })), ...result.refused);
    last = read.at(-1)?.line ?? last;
    sent += read.reduce((bytes, { text }) => bytes + Buffer.byteLength(text) + 1, 0);
    progress(Math.min(sent / size, 0.99), counts.lines);
  }
  progress(1, counts.lines);
  const reasons = [...Map.groupBy(refused, ({ reason }) => reason)].map(([reason, lines]) => ({
    reason,
    count: lines.length,
    lines: lines.slice(0, mostNamed).map(({ line }) => line),
  }));
  return { ...counts, refused: refused.length, reasons };
}

async function sendBatch(send: Send, batch: ImportLine[], last: number): Promise<ImportResult> {
  try {
    return v.parse(importResult, await send(batch));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The import stopped after line ${last}. Run the command again to continue. ${why}`);
  }
}

/** A line of the file, or why it is not sent. */
type ReadLine = ImportLine | { line: number; text: string; reason: string };

async function* batchesOf(file: string, rewrite: Rewrite): AsyncGenerator<ReadLine[]> {
  const repetitions = new Map<string, number>();
  let batch: ReadLine[] = [];
  let characters = 0;
  let line = 0;
  for await (const read of linesOf(file)) {
    line += 1;
    const typed = read.replace(/^\ufeff/, '').trim();
    if (typed === '') continue;
    const rewritten = { text: typed, ...rewrite(typed) };
    const { text } = rewritten;
    const digest = createHash('sha256').update(text).digest('base64');
    const repetition = repetitions.get(digest) ?? 0;
    repetitions.set(digest, repetition + 1);
    batch.push('reason' in rewritten ? { line, ...rewritten } : { line, text, repetition });
    characters += text.length;
    if (batch.length === mostLines || characters > mostCharacters) {
      yield batch;
      batch = [];
      characters = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

/** Node's readline also ends lines at U+2028 and U+2029, which may stand in a JSON text. */
async function* linesOf(file: string): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of createReadStream(file, 'utf8')) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  yield rest;
}

function sizeOf(file: string): number {
  try {
    return Math.max(statSync(file).size, 1);
  } catch {
    throw new Error(`The file ${file} cannot be read.`);
  }
}
