import * as v from 'valibot';
import type { Grouping } from '../../lib/operator/command.ts';
import type { ImportLine } from '../../lib/schema/import-lines.ts';
import { type IdMap, readIdMap, requireWritable, withNewId, writeIdMap } from './id-map.ts';
import { batchResultSchema, ImportSummary } from './import-summary.ts';
import type { CommandLine } from './parse-command-line.ts';
import { mostLines, type ReadLine, readLines } from './read-lines.ts';
import type { Output } from './readable.ts';

/** The characters of a batch after which the next group begins a new one: Lambda accepts 6 MB. */
const mostCharacters = 500_000;

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
  // Before the first batch: new ids that can't be written would be lost.
  if (idsTo !== undefined) requireWritable('--ids-to', idsTo);
  const newIds: IdMap = idsTo === undefined ? new Map() : readIdMap('--ids-to', idsTo);
  const summary = new ImportSummary();
  const { counts } = summary;
  for await (const batch of batchesOf(readLines(file, rewrite, grouping))) {
    const accepted: ImportLine[] = [];
    for (const { line, text, repetition, reason } of batch) {
      if (reason === null) accepted.push({ line, text, repetition });
      else summary.refuse(line, reason);
    }
    const result = await send(accepted)
      .then((answer) => v.parse(batchResultSchema, answer))
      .catch(({ message }: Error) => {
        const stopped = `The import stopped after ${counts.lines} lines. Run the command again to continue.`;
        throw new Error(`${stopped} ${message}`);
      });
    for (const { id, access_request_id } of result.ids) newIds.set(id, access_request_id);
    summary.add(result, batch.length);
    const linesOfFile = batch[0]?.total ?? 1;
    progress(counts.lines / linesOfFile, counts.lines);
  }
  if (idsTo !== undefined) writeIdMap(idsTo, newIds);
  return summary.shown(idsTo);
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

export const progressOn = (stream: Output) => (share: number, lines: number) => {
  const end = share === 1 ? '\n' : '';
  if (stream.isTTY) stream.write(`\r${Math.floor(share * 100)} %  ${lines} lines${end}`);
};
