import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import type { Platform } from '../login-apps/platforms.ts';
import { shardNumberOf } from '../storage/shards.ts';
import { type Place, placeSchema } from './recipients.ts';

/** The query that a cursor continues. The cursor is invalid for any other query. */
interface CursorScope {
  loginAppId: string;
  shard: number;
  platform: Platform | undefined;
}

/**
 * `PLACE`, or `PLACE.KEY_ID.MAC` as cursors used to be written. It is not signed: a place that somebody makes up only
 * moves the start within a shard that they may read from its beginning.
 */
const cursorForm = /^([\w-]{1,500})(\.[\w-]{8}\.[\w-]{43})?$/;

/** A place, and what the shard that its device is in leaves open of the query. Cursors that were signed have only a place. */
const cursorSchema = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ ...placeSchema.entries, of: v.exactOptional(v.tuple([v.string(), v.nullable(v.string())])) }),
);

export const writeCursor = ({ loginAppId, platform }: CursorScope, next: Place): string =>
  Buffer.from(JSON.stringify({ ...next, of: [loginAppId, platform ?? null] })).toString('base64url');

/** The place of a cursor. @throws ServiceError `invalid_request` unless it is one of this query */
export function readCursor({ loginAppId, shard, platform }: CursorScope, cursor: string): Place {
  const text = Buffer.from(cursorForm.exec(cursor)?.[1] ?? '', 'base64url').toString();
  const { success, output } = v.safeParse(cursorSchema, text);
  const [ofLoginApp, ofPlatform] = (success && output.of) || [loginAppId, platform ?? null];
  const isOfQuery =
    success &&
    shardNumberOf(output.device_id) === shard &&
    ofLoginApp === loginAppId &&
    ofPlatform === (platform ?? null);
  if (!isOfQuery) {
    throw new ServiceError(
      'invalid_request',
      'The parameter cursor must be the next_cursor of the page before, with the same shard and platform.',
    );
  }
  return { device_id: output.device_id, last_seen_at: output.last_seen_at };
}
