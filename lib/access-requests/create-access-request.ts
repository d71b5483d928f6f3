import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { ago, epochSeconds, timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { countField, described, jsonSchema, timeField, timestampField } from '../schema/json-schema.ts';
import { jsonObject } from '../schema/validation.ts';
import { claimItem, itemKind, readItem, readItems, updateItem } from '../storage/items.ts';
import { newAccessRequestKey, referenceKey } from '../storage/keys.ts';
import {
  type AccessRequest,
  accessItem,
  accessRequestItem,
  deleteAccess,
  idIsTaken,
  putAccess,
  putAccessRequest,
  takeIds,
} from './access-request.ts';
import { mark } from './account-lists.ts';
import { hashOfKey, keyLifetimeSeconds, keysCountSince, usedForAnother } from './idempotency.ts';
import { actorFields, nameText } from './new-event.ts';

const mostApprovals = 10;

/** Fields of a new access request, also in a line of an import. */
export const newAccessRequestFields = {
  title: described(v.optional(nameText('title')), 'What it is about, for people.'),
  reference: described(
    v.optional(nameText('reference')),
    'Its id in your own system; the account has no other access request with it.',
  ),
  requested_by: described(
    v.optional(
      v.object(actorFields, ({ path }) =>
        path ? `requested_by.${String(path[0]?.key)} is required.` : 'requested_by must be an object.',
      ),
    ),
    'Who asks for approval.',
  ),
  approvals_needed: described(
    v.optional(
      v.message(
        v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(mostApprovals)),
        `approvals_needed must be an integer from 1 to ${mostApprovals}.`,
      ),
    ),
    'How many different actors have to approve. A decision is computed if this or `expires_at` is given; 1 is then the default.',
  ),
  self_review: described(
    v.optional(v.boolean('self_review must be true or false.')),
    'Whether reviews of who requested it count. By default, they do.',
  ),
  expires_at: described(
    timeField('expires_at'),
    'When it expires, unless it is decided before: RFC 3339, in the future.',
  ),
};
const fieldsSchema = v.object(newAccessRequestFields);
type NewAccessRequest = v.InferOutput<typeof fieldsSchema>;

/** A JSON object with such fields, all optional; others are ignored. */
export const accessRequestBodySchema = v.pipe(
  jsonObject('The body must be a JSON object.'),
  v.object({
    ...newAccessRequestFields,
    expires_at: v.pipe(
      newAccessRequestFields.expires_at,
      v.check((time) => time === undefined || time > timestamp(), 'expires_at must be a time in the future.'),
    ),
  }),
  jsonSchema(v.pipe(fieldsSchema, v.title('NewAccessRequest'))),
);

export const attributesOf = ({ expires_at, approvals_needed, ...fields }: NewAccessRequest) => ({
  ...fields,
  approvals_needed: approvals_needed ?? (expires_at === undefined ? undefined : 1),
  open_until: expires_at,
});

/** The item of an idempotency key: the access request that it made. `expires_at` is in epoch seconds. */
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

export const createdSchema = v.pick(madeByKeyItem.schema, ['id', 'created_at']);
type Created = v.InferOutput<typeof createdSchema>;

const referenceItem = itemKind(
  v.object({ access_request_id: v.number(), claimed_at: v.string() }),
  referenceKey,
);

/** Milliseconds after which a claim whose access request was never finished counts for nothing. */
const finishedWithin = 60_000;

/**
 * Creates an access request for an account. A request that comes again with its `Idempotency-Key` within 24 hours gets that
 * of the first one, even when both arrive at once: the key claims an id in one conditional write, and only then is the
 * access request made under it. Whoever finds a claim does what a crash has left undone.
 * @throws ServiceError `conflict` when another access request has the reference, `unprocessable_entity` when the key came
 *   with other fields
 */
export async function createAccessRequestFor(
  accountId: string,
  fields: NewAccessRequest,
  idempotencyKey: string | undefined,
): Promise<Created> {
  const attributes = { ...attributesOf(fields), account_id: accountId };
  if (idempotencyKey === undefined) return createAccessRequest(attributes);
  const key = madeByKeyItem(accountId, hashOfKey(accountId, idempotencyKey));
  const countsSince = keysCountSince();
  const earlier = await readItem(key);
  if (earlier && earlier.created_at >= countsSince) return finish(attributes, earlier);
  const id = await takeIds(1);
  const made = { id, created_at: timestamp(), expires_at: epochSeconds() + keyLifetimeSeconds };
  const claim = await claimItem(key, { ...made, is_claim: true }, { created_at: { isNotFrom: countsSince } });
  return claim.id === id ? make(attributes, claim) : finish(attributes, claim);
}

type Attributes = Omit<AccessRequest, 'access_request_id' | 'created_at'>;

/** Creates an access request. A crash leaves one without access, whose id was never returned. @throws ServiceError `conflict` */
export const createAccessRequest = async (attributes: Attributes): Promise<Created> =>
  make(attributes, { id: await takeIds(1), created_at: timestamp() });

/** Makes an access request under an id that was taken for it, with its account's access; or finishes it. */
async function make(attributes: Attributes, { id, created_at }: Created): Promise<Created> {
  const request = { ...attributes, access_request_id: id, created_at };
  await claimReference(request);
  if (!(await putAccessRequest(request))) return finish(attributes, { id, created_at });
  await grantAccess(request, request.account_id, 'new');
  return { id, created_at };
}

/** Does what somebody else has left undone of an access request. @throws Error when another one has its id */
async function finish(attributes: Attributes, { id, created_at }: Created): Promise<Created> {
  const { account_id } = attributes;
  const [found, access] = await readItems([accessRequestItem(id), accessItem(id, account_id)]);
  if (!found) return make(attributes, { id, created_at });
  if (found.account_id !== account_id || found.created_at !== created_at) throw idIsTaken(id);
  if (!sent.every((field) => isDeepStrictEqual(found[field], attributes[field]))) throw usedForAnother();
  if (!access && found.creator_revoked_at === undefined) await grantAccess(found, account_id);
  return { id, created_at };
}

const sent = ['title', 'reference', 'requested_by', 'approvals_needed', 'self_review', 'open_until'] as const;

/** Gives an account access, after the marks for its lists. @param about `new` if no other account has had access yet */
export async function grantAccess(
  { access_request_id: id, open_until, approvals_needed }: AccessRequest,
  accountId: string,
  about: 'new' | 'access' = 'access',
): Promise<void> {
  await Promise.all([mark(id, accountId, about), open_until && mark(id, accountId, 'due', open_until)]);
  await putAccess(id, accountId, { is_decided: approvals_needed === undefined ? undefined : true });
}

/** Takes the access away from an account. Of its creator's, the access request keeps the time. */
export async function revokeAccess({ access_request_id: id, account_id }: AccessRequest, accountId: string) {
  if (account_id === accountId)
    await updateItem(accessRequestItem(id), { set: { creator_revoked_at: timestamp() } });
  await mark(id, accountId, 'access');
  await deleteAccess(id, accountId);
}

/** Claims the reference of an access request, if it has one. @throws ServiceError `conflict`, naming the owner */
export async function claimReference({ reference, account_id, access_request_id }: AccessRequest) {
  if (reference === undefined) return;
  const key = referenceItem(account_id, reference);
  const own = { access_request_id, claimed_at: timestamp() };
  let claim = await claimItem(key, own);
  const { access_request_id: id, claimed_at } = claim;
  if (id !== access_request_id && claimed_at < ago(finishedWithin)) {
    const [request, access] = await readItems([accessRequestItem(id), accessItem(id, account_id)]);
    const isMade = request && (access || request.creator_revoked_at !== undefined);
    if (!isMade) claim = await claimItem(key, own, { access_request_id: { is: id } });
  }
  if (claim.access_request_id !== access_request_id)
    throw new ServiceError('conflict', `The access request ${claim.access_request_id} has this reference.`);
}
