import * as v from 'valibot';
import { epochSeconds, timestamp } from '../foundation/clock.ts';
import { countField, timestampField } from '../schema/json-schema.ts';
import { itemKind, readItem, readItems, updateItem } from '../storage/items.ts';
import { newAccessRequestKey } from '../storage/keys.ts';
import {
  accessItem,
  accessRequestItem,
  createAccessRequest,
  grantAccess,
  idIsTaken,
  putAccessRequest,
  takeIds,
} from './access-request.ts';
import { hashOfKey, keyLifetimeSeconds, keysCountSince } from './idempotency.ts';

/** The item of an idempotency key: the access request, and the end of the key in epoch seconds. */
const madeByKeyItem = itemKind(
  v.object({
    id: countField,
    created_at: timestampField,
    expires_at: v.number(),
    /** Read by 1.0.0, which finishes only what has it. */
    is_claim: v.optional(v.literal(true)),
  }),
  newAccessRequestKey,
);

/** An access request as its creator sees it. */
export const newAccessRequestSchema = v.pick(madeByKeyItem.schema, ['id', 'created_at']);
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
  const key = madeByKeyItem(accountId, hashOfKey(accountId, idempotencyKey));
  const countsSince = keysCountSince();
  const earlier = await readItem(key);
  if (earlier && earlier.created_at >= countsSince) return finish(accountId, earlier);
  const claim = { id: await takeIds(1), created_at: timestamp() };
  const written = await updateItem(key, {
    set: { ...claim, is_claim: true, expires_at: epochSeconds() + keyLifetimeSeconds },
    when: { created_at: { isNotFrom: countsSince } },
  });
  return written.done ? make(accountId, claim) : finish(accountId, madeByKeyItem.parse(written.found ?? {}));
}

/** Makes the access request of a new claim. */
async function make(accountId: string, { id, created_at }: NewAccessRequest): Promise<NewAccessRequest> {
  if (!(await putAccessRequest({ access_request_id: id, account_id: accountId, created_at })))
    return finish(accountId, { id, created_at });
  await grantAccess(id, accountId);
  return { id, created_at };
}

/** Does what is missing of a claim that somebody else made. @throws Error when its id belongs to another access request */
async function finish(accountId: string, { id, created_at }: NewAccessRequest): Promise<NewAccessRequest> {
  const [found, access] = await readItems([accessRequestItem(id), accessItem(id, accountId)]);
  if (!found) return make(accountId, { id, created_at });
  if (found.account_id !== accountId || found.created_at !== created_at) throw idIsTaken(id);
  if (!access && found.creator_revoked_at === undefined) await grantAccess(id, accountId);
  return { id, created_at };
}
