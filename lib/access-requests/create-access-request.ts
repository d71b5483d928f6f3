import * as v from 'valibot';
import { epochSeconds, timestamp } from '../foundation/clock.ts';
import { countField, timestampField } from '../schema/json-schema.ts';
import type { Conditions } from '../storage/expressions.ts';
import { readItem, readItems, updateItem } from '../storage/items.ts';
import { accessKey, accessRequestKey, newAccessRequestKey } from '../storage/keys.ts';
import { grantAccess } from './access.ts';
import {
  createAccessRequest,
  putAccessRequest,
  storedAccessRequestItem,
  untilFree,
} from './access-request.ts';
import { hashOfKey, keyLifetimeSeconds, keysCountSince } from './idempotency.ts';

/** The item of an idempotency key: the access request, and the end of the key in epoch seconds. */
const madeByKeyItem = v.object({
  id: countField,
  created_at: timestampField,
  expires_at: v.number(),
  /** Whether the key was stored before the access request. Earlier versions stored it after all else. */
  is_claim: v.optional(v.literal(true)),
});

/** An access request as its creator sees it. */
export const newAccessRequestSchema = v.pick(madeByKeyItem, ['id', 'created_at']);
type NewAccessRequest = v.InferOutput<typeof newAccessRequestSchema>;

/**
 * Creates an access request for an account. A request that comes again with its `Idempotency-Key` within 24 hours
 * gets the access request of the first one, also when both come at once: the key claims an id in one conditional write, and
 * only then is the access request made under that id. Whoever finds a claim does what is missing, so a crash leaves
 * nothing that the next request does not finish.
 */
export async function createAccessRequestFor(accountId: string, idempotencyKey: string | undefined) {
  if (idempotencyKey === undefined) {
    const { access_request_id: id, created_at } = await createAccessRequest(accountId);
    return { id, created_at };
  }
  const key = newAccessRequestKey(accountId, hashOfKey(accountId, idempotencyKey));
  const countsSince = keysCountSince();
  const item = await readItem(key);
  const earlier = item && v.parse(madeByKeyItem, item);
  let replaces: Conditions = { created_at: { isNotFrom: countsSince } };
  if (earlier && earlier.created_at >= countsSince) {
    if (await finish(accountId, earlier)) return shown(earlier);
    replaces = { id: { is: earlier.id } };
  }
  return untilFree(undefined, async (id) => {
    const claim = { id, created_at: timestamp(), is_claim: true } as const;
    const written = await updateItem<v.InferOutput<typeof madeByKeyItem>>(key, {
      set: { ...claim, expires_at: epochSeconds() + keyLifetimeSeconds },
      when: replaces,
    });
    const stands = written.done ? claim : v.parse(madeByKeyItem, written.found);
    if (await (written.done ? make : finish)(accountId, stands)) return shown(stands);
    replaces = { id: { is: stands.id } };
    return undefined;
  });
}

type Claim = Pick<v.InferOutput<typeof madeByKeyItem>, 'id' | 'created_at' | 'is_claim'>;

/** Makes the access request of a new claim; false when its id belongs to another one. */
async function make(accountId: string, claim: Claim): Promise<boolean> {
  const { id: access_request_id, created_at } = claim;
  const outcome = await putAccessRequest({ access_request_id, account_id: accountId, created_at });
  if (outcome === 'exists') return finish(accountId, claim);
  await grantAccess(access_request_id, accountId);
  return true;
}

/** Does what is missing of a claim that somebody else made; false when its id belongs to another access request. */
async function finish(accountId: string, claim: Claim): Promise<boolean> {
  const { id, created_at, is_claim } = claim;
  if (!is_claim) return true;
  const [item, access] = await readItems([accessRequestKey(id), accessKey(id, accountId)]);
  if (!item) return make(accountId, claim);
  const found = v.parse(storedAccessRequestItem, item);
  if (found.account_id !== accountId || found.created_at !== created_at) return false;
  if (!access && found.creator_revoked_at === undefined) await grantAccess(id, accountId);
  return true;
}

const shown = ({ id, created_at }: NewAccessRequest): NewAccessRequest => ({ id, created_at });
