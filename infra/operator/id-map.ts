import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import * as v from 'valibot';

/** A line of a map of ids: the id that an access request had, and the one that it has now. */
const idPairSchema = v.object({ id: v.string(), access_request_id: v.number() });
const withIdsSchema = v.object({ ids: v.array(idPairSchema) });

/** New ids by the ids before. */
type IdMap = Map<string, number>;

/** The map in a file; an empty one when there is no file yet. @throws Error when the file is something else */
export const openIdMap = (file: string): IdMap =>
  existsSync(file) ? readIdMap('--ids-to', file) : new Map();

/** The map in a file. @param flag that names the file @throws Error when it cannot be read */
export function readIdMap(flag: string, file: string): IdMap {
  try {
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
    const pairs = lines.map((line) => v.parse(idPairSchema, JSON.parse(line)));
    return new Map(pairs.map(({ id, access_request_id }) => [id, access_request_id]));
  } catch (error) {
    const why = 'code' in Object(error) ? 'cannot be read' : 'is no map of ids';
    throw new Error(`${flag}: the file ${file} ${why}.`);
  }
}

export function writeIdMap(file: string, ids: IdMap): void {
  const lines = [...ids].map(([id, access_request_id]) => `${JSON.stringify({ id, access_request_id })}\n`);
  writeFileSync(file, lines.join(''));
}

/** Takes over the ids that the result for some lines names. */
export function addIds(ids: IdMap, result: unknown): void {
  for (const { id, access_request_id } of v.parse(withIdsSchema, result).ids) ids.set(id, access_request_id);
}

/** A line with the new id of its access request, or why it has none. A line that is no event stays as it is. */
export const withNewId =
  (ids: IdMap) =>
  (text: string): { text: string } | { reason: string } => {
    const event = parsed(text);
    if (!(event instanceof Object) || !('access_request_id' in event)) return { text };
    const access_request_id = ids.get(String(event.access_request_id));
    if (access_request_id === undefined) return { reason: 'The map of ids lacks its access_request_id.' };
    return { text: JSON.stringify({ ...event, access_request_id }) };
  };

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
