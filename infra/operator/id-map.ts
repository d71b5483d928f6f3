import { closeSync, constants, openSync, writeFileSync } from 'node:fs';
import * as v from 'valibot';
import { readText } from './files/utf8-file.ts';

/** A line of a map of ids: the former and the new id of an access request. */
export const idPairSchema = v.object({ id: v.string(), access_request_id: v.number() });

/** The new ids of access requests by their former ones. */
export type IdMap = Map<string, number>;

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
export function requireWritable(flag: string, file: string): void {
  try {
    closeSync(openSync(file, unfollowed));
  } catch (error) {
    const isLink = Object(error).code === 'ELOOP';
    const why = isLink ? 'is a symbolic link: name the file itself' : 'cannot be written';
    throw new Error(`${flag}: the file ${file} ${why}.`);
  }
}

/** Writes a map of ids, in place of what the file holds. */
export function writeIdMap(file: string, ids: IdMap): void {
  const lines = [...ids].map(([id, access_request_id]) => {
    const pair = { id, access_request_id };
    return `${JSON.stringify(pair)}\n`;
  });
  const content = lines.join('');
  const descriptor = openSync(file, unfollowed | O_TRUNC);
  writeFileSync(descriptor, content);
  closeSync(descriptor);
}

/**
 * Reads a map of new ids by the former ones.
 * @param flag that names the file
 * @throws Error when it cannot be read
 */
export function readIdMap(flag: string, file: string): IdMap {
  const named = `${flag}: the file ${file}`;
  const lines = readText(named, file).split('\n').filter(Boolean);
  try {
    const pairs = lines.map((line) => v.parse(idPairSchema, JSON.parse(line)));
    return new Map(pairs.map(({ id, access_request_id }) => [id, access_request_id]));
  } catch {
    throw new Error(`${named} is no map of ids.`);
  }
}

const jsonSchema = v.pipe(v.string(), v.parseJson());

/**
 * Gives a line the new id of its access request. A line that is no event stays as it is: the import
 * says what is wrong with it.
 * @returns the new line, or the reason why there is none
 */
export const withNewId =
  (ids: IdMap) =>
  (text: string): { text: string } | { reason: string } => {
    const event = v.safeParse(jsonSchema, text).output;
    const isEvent = event instanceof Object && 'access_request_id' in event;
    if (!isEvent) return { text };

    const newId = ids.get(String(event.access_request_id));
    if (newId === undefined) return { reason: 'The map of ids lacks its access_request_id.' };
    return { text: JSON.stringify({ ...event, access_request_id: newId }) };
  };
