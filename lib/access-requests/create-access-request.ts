import * as v from 'valibot';
import { epochSeconds } from '../clock.ts';
import { countField, timestampField } from '../schema/wire.ts';
import { readItem, updateItem } from '../storage/items.ts';
import { newAccessRequestKey } from '../storage/keys.ts';
import { createAccessRequest } from './access-request.ts';
import { hashOfKey, keyLifetimeSeconds, keysCountSince } from './idempotency.ts';

/** What an idempotency key made: the access request, and the end of the key in epoch seconds. */
const madeByKeyItem = v.object({ id: countField, created_at: timestampField, expires_at: v.number() });

/** An access request as its creator sees it. */
export const newAccessRequestSchema = v.pick(madeByKeyItem, ['id', 'created_at']);
type NewAccessRequest = v.InferOutput<typeof newAccessRequestSchema>;

/**
 * Creates an access request for an account. A request that comes again with its `Idempotency-Key` within 24 hours
 * gets the access request that the first one made: the key is stored after the access request, unless another
 * request has stored it meanwhile, and the answer is what is stored. Whether the key counts is decided by the write
 * alone, so a key that has expired may be removed at any time. When two requests come at once, or one crashes between
 * its two writes, an empty access request is left whose id was never returned.
 */
export async function createAccessRequestFor(
  accountId: string,
  idempotencyKey: string | undefined,
): Promise<NewAccessRequest> {
  if (idempotencyKey === undefined) return create(accountId);
  const key = newAccessRequestKey(accountId, hashOfKey(accountId, idempotencyKey));
  const countsSince = keysCountSince();
  const item = await readItem(key);
  const earlier = item && v.parse(madeByKeyItem, item);
  if (earlier && earlier.created_at >= countsSince) return shown(earlier);

  const made = await create(accountId);
  const written = await updateItem<v.InferOutput<typeof madeByKeyItem>>(key, {
    set: { ...made, expires_at: epochSeconds() + keyLifetimeSeconds },
    when: { created_at: { isNotFrom: countsSince } },
  });
  return written.done ? made : shown(v.parse(madeByKeyItem, written.found));
}

async function create(accountId: string): Promise<NewAccessRequest> {
  const { access_request_id: id, created_at } = await createAccessRequest(accountId);
  return { id, created_at };
}

const shown = ({ id, created_at }: NewAccessRequest): NewAccessRequest => ({ id, created_at });
