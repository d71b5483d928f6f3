import { addIds, openIdMap, readIdMap, withNewId, writeIdMap } from './id-map.ts';
import type { CommandLine } from './parse-command-line.ts';
import type { Progress } from './progress-bar.ts';
import { type Send, type Summary, sendLines } from './send-lines.ts';

/**
 * Sends the lines of a file. With --ids-from, each event first gets the new id of its access request; with --ids-to, the
 * ids that an import gave are added to a file, whole or not at all.
 * @throws Error when it has to stop; the same command can be run again
 */
export async function runImport(
  { file, files }: { file: string; files: CommandLine['files'] },
  send: Send,
  progress: Progress,
): Promise<Summary> {
  const { 'ids-from': idsFrom, 'ids-to': idsTo } = files;
  const rewrite = idsFrom === undefined ? undefined : withNewId(readIdMap('--ids-from', idsFrom));
  if (idsTo === undefined) return sendLines(file, send, { progress, rewrite });
  const ids = openIdMap(idsTo);
  const sendAndNote: Send = async (batch) => {
    const result = await send(batch);
    addIds(ids, result);
    return result;
  };
  const summary = await sendLines(file, sendAndNote, { progress, rewrite });
  writeIdMap(idsTo, ids);
  return summary;
}
