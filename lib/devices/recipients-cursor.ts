import { createHmac, type KeyObject } from 'node:crypto';
import * as v from 'valibot';
import { ServiceError } from '../errors/service-error.ts';
import type { Platform } from '../login-apps/platforms.ts';
import { equalInConstantTime } from '../secrets/secrets.ts';
import { serviceKeysFor } from '../secrets/service-keys.ts';
import { type Place, place } from './sending.ts';

const serviceKeys = serviceKeysFor('recipients-cursor', 'REFRESH_TOKENS_SECRET_ID');

/** The query that a cursor continues. The cursor is invalid for any other query. */
export interface CursorScope {
  loginAppId: string;
  shard: number;
  platform: Platform | undefined;
}

/** `PLACE.KEY_ID.MAC`, where MAC is HMAC-SHA-256 over the place and the query. */
export async function writeCursor(scope: CursorScope, next: Place): Promise<string> {
  const { id, key } = (await serviceKeys()).current;
  const text = Buffer.from(JSON.stringify(next)).toString('base64url');
  return [text, id, mac(key, scope, text)].join('.');
}

/** The place of a cursor. @throws ServiceError `invalid_request` unless the service wrote it for this query */
export async function readCursor(scope: CursorScope, cursor: string): Promise<Place> {
  const [, text = '', keyId = '', presentedMac = ''] =
    cursor.match(/^([\w-]{1,500})\.([\w-]{8})\.([\w-]{43})$/) ?? [];
  const key = (await serviceKeys()).withId(keyId)?.key;
  if (!key || !equalInConstantTime(presentedMac, mac(key, scope, text))) {
    throw new ServiceError(
      'invalid_request',
      'The parameter cursor must be the next_cursor of the page before, with the same shard and platform.',
    );
  }
  return v.parse(place, JSON.parse(Buffer.from(text, 'base64url').toString()));
}

const mac = (key: KeyObject, { loginAppId, shard, platform }: CursorScope, text: string): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([loginAppId, shard, platform ?? null, text]))
    .digest('base64url');
