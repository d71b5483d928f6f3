import * as v from 'valibot';
import { invalid } from '../foundation/service-error.ts';

/**
 * A cursor: the position at which the next page begins, with the query that it belongs to. It is
 * not signed: whoever makes one up only chooses where to begin in a list that they may read anyway.
 * @param of tells the query from others, such as a hash of its filters
 */
export const writeCursor = (position: object, of: unknown): string =>
  Buffer.from(JSON.stringify({ ...position, of })).toString('base64url');

/**
 * The position at which a page begins; undefined for the first page, which has no cursor.
 * @param of as `writeCursor` gets it
 * @param shared what the pages of the query have in common, for the message
 * @throws ServiceError `invalid_request` for a text that is no cursor of this query
 */
export function readCursor<Position extends object>(
  schema: v.GenericSchema<unknown, Position>,
  cursor: string | undefined,
  of: unknown,
  shared: string,
): Position | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  const read = v.safeParse(v.pipe(v.string(), v.parseJson(), schema), text);
  // Written again, the cursor of another query would be another text.
  const isOfQuery = read.success && writeCursor(read.output, of) === cursor;
  if (isOfQuery) return read.output;
  throw invalid(
    `The parameter cursor must be the next_cursor of the page before, with the same ${shared}.`,
  );
}
