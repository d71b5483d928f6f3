import * as v from 'valibot';
import { epochSeconds } from '../clock.ts';
import { readItem, updateItem } from '../storage/items.ts';
import { newAccessRequestKey } from '../storage/keys.ts';
import { createAccessRequest } from './access-request.ts';
import { hashOfKey, keyLifetimeSeconds, keysCountSince } from './idempotency.ts';

/** What an idempotency key made: the access request, and the end of the key in epoch seconds. */
const madeByKey = v.object({ id: v.number(), created_at: v.string(), expires_at: v.number() });

/** An access request as its creator sees it. */
export const newAccessRequest = v.pick(madeByKey, ['id', 'created_at']);
type NewAccessRequest = v.InferOutput<typeof newAccessRequest>;

/**
 * Creates an access request for an account. A request that comes again with its `Idempotency-Key` within 24 hours
 * gets the one that it made: the key is written down after the access request, and only what is written down
 * is answered. Of two at once, or after a crash in between, an empty access request that nobody was told of is left.
 */
export async function createAccessRequestFor(
  accountId: string,
  idempotency_key: string | undefined,
): Promise<NewAccessRequest> {
  if (idempotency_key === undefined) return create(accountId);
  const key = newAccessRequestKey(accountId, hashOfKey(accountId, idempotency_key));
  const item = await readItem(key);
  const earlier = item && v.parse(madeByKey, item);
  if (earlier && earlier.created_at >= keysCountSince()) return shown(earlier);

  const made = await create(accountId);
  const written = await updateItem(key, {
    set: { ...made, expires_at: epochSeconds() + keyLifetimeSeconds },
    when: earlier ? { created_at: { is: earlier.created_at } } : { pk: { exists: false } },
  });
  return written.done ? made : shown(v.parse(madeByKey, written.found));
}

async function create(accountId: string): Promise<NewAccessRequest> {
  const { access_request_id: id, created_at } = await createAccessRequest(accountId);
  return { id, created_at };
}

const shown = ({ id, created_at }: NewAccessRequest): NewAccessRequest => ({ id, created_at });
