import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { epochSeconds, timestamp } from '../foundation/clock.ts';
import { countField, timestampField } from '../schema/json-schema.ts';
import { itemKind, readItem, readItems, updateItem } from '../storage/items.ts';
import { newAccessRequestKey } from '../storage/keys.ts';
import { type AccessRequest, accessItem, accessRequestItem, idIsTaken, takeIds } from './access-request.ts';
import { hashOfKey, keyLifetimeSeconds, keysCountSince, usedForAnother } from './idempotency.ts';
import {
  claimReference,
  createAccessRequest,
  grantAccess,
  makeAccessRequest,
} from './make-access-request.ts';
import { attributesOf, type NewAccessRequest } from './new-access-request.ts';

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
export const createdSchema = v.pick(madeByKeyItem.schema, ['id', 'created_at']);
type Created = v.InferOutput<typeof createdSchema>;

/**
 * Creates an access request for an account. A request that comes again with its `Idempotency-Key` within 24 hours
 * gets the access request of the first one, also when both come at once: the key claims an id in one conditional write, and
 * only then is the access request made under that id. Whoever finds a claim does what is missing, so a crash leaves
 * nothing that the next request does not finish.
 * @throws ServiceError `conflict` when another access request has the reference, `unprocessable_entity` when the key came
 *   with other fields
 */
export async function createAccessRequestFor(
  accountId: string,
  fields: NewAccessRequest,
  idempotencyKey: string | undefined,
): Promise<Created> {
  const attributes = attributesOf(fields);
  if (idempotencyKey === undefined) {
    const { access_request_id: id, created_at } = await createAccessRequest(accountId, attributes);
    return { id, created_at };
  }
  const key = madeByKeyItem(accountId, hashOfKey(accountId, idempotencyKey));
  const countsSince = keysCountSince();
  const requestOf = ({ id, created_at }: Created): AccessRequest => ({
    ...attributes,
    access_request_id: id,
    account_id: accountId,
    created_at,
  });
  const earlier = await readItem(key);
  if (earlier && earlier.created_at >= countsSince) return finish(requestOf(earlier));
  const claim = { id: await takeIds(1), created_at: timestamp() };
  const written = await updateItem(key, {
    set: { ...claim, is_claim: true, expires_at: epochSeconds() + keyLifetimeSeconds },
    when: { created_at: { isNotFrom: countsSince } },
  });
  return written.done ? make(requestOf(claim)) : finish(requestOf(madeByKeyItem.parse(written.found ?? {})));
}

/** Makes the access request of a new claim. */
async function make(request: AccessRequest): Promise<Created> {
  await claimReference(request);
  if (!(await makeAccessRequest(request))) return finish(request);
  return { id: request.access_request_id, created_at: request.created_at };
}

/** Does what is missing of a claim that somebody else made. @throws Error when its id belongs to another access request */
async function finish(request: AccessRequest): Promise<Created> {
  const { access_request_id: id, account_id, created_at } = request;
  const [found, access] = await readItems([accessRequestItem(id), accessItem(id, account_id)]);
  if (!found) return make(request);
  if (found.account_id !== account_id || found.created_at !== created_at) throw idIsTaken(id);
  if (!hasFields(found, request)) throw usedForAnother();
  if (!access && found.creator_revoked_at === undefined) await grantAccess(found, account_id);
  return { id, created_at };
}

const sent = ['title', 'reference', 'requested_by', 'approvals_needed', 'self_review', 'open_until'] as const;

const hasFields = (found: AccessRequest, request: AccessRequest): boolean =>
  sent.every((field) => isDeepStrictEqual(found[field], request[field]));
