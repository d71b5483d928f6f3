import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { epochSeconds, timestamp } from '../foundation/clock.ts';
import { ServiceError } from '../foundation/service-error.ts';
import {
  countField,
  described,
  jsonSchema,
  timeField,
  timestampField,
} from '../schema/json-schema.ts';
import { jsonObject } from '../schema/validation.ts';
import { isPartitionFull, itemKind, readItem, readItems } from '../storage/items.ts';
import * as keys from '../storage/keys.ts';
import { put, type TransactionWrite, writeTogether } from '../storage/transactions.ts';
import { type AccessRequest, accessRequestItem, idIsTaken, takeIds } from './access-request.ts';
import { type Access, accessItem, accessWrites, grantAccess } from './accesses.ts';
import { hashOfKey, keyLifetimeSeconds, keysCountSince, usedForAnother } from './idempotency.ts';
import { actorFields, nameField } from './new-event.ts';
import { shown } from './shown-access-request.ts';

const mostApprovals = 10;

const requesterField = v.object(actorFields, ({ path }) => {
  if (!path) return 'requested_by must be an object.';
  return `requested_by.${String(path[0]?.key)} is required.`;
});

const approvalsNeededField = v.message(
  v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(mostApprovals)),
  `approvals_needed must be an integer from 1 to ${mostApprovals}.`,
);

/** Fields of a new access request, also in a line of an import. */
export const newAccessRequestFields = {
  title: described(v.optional(nameField('title')), 'What it is about, for people.'),
  reference: described(
    v.optional(nameField('reference')),
    'Its id in your own system; the account has no other access request with it.',
  ),
  requested_by: described(v.optional(requesterField), 'Who asks for approval.'),
  approvals_needed: described(
    v.optional(approvalsNeededField),
    'How many different actors have to approve. A decision is computed if this or `expires_at` is given; 1 is then the default.',
  ),
  self_review: described(
    v.optional(v.boolean('self_review must be true or false.')),
    "Whether the requester's own reviews count. By default, they do. `false` requires `requested_by`.",
  ),
  expires_at: described(
    timeField('expires_at'),
    'When it expires, unless it is decided before: RFC 3339, in the future.',
  ),
};
const fieldsSchema = v.object(newAccessRequestFields);
type NewAccessRequest = v.InferOutput<typeof fieldsSchema>;

/**
 * Whether the fields name the requester where that is needed: `self_review: false` is about the
 * requester's reviews.
 */
export const namesRequester = ({ self_review, requested_by }: NewAccessRequest): boolean =>
  self_review !== false || requested_by !== undefined;
export const requesterMissing =
  'self_review: false needs requested_by, whose reviews then do not count.';

/** A JSON object with such fields, all optional; others are ignored. */
export const accessRequestBodySchema = v.pipe(
  jsonObject('The body must be a JSON object.'),
  v.object({
    ...newAccessRequestFields,
    expires_at: v.pipe(
      newAccessRequestFields.expires_at,
      v.check(
        (time) => time === undefined || time > timestamp(),
        'expires_at must be a time in the future.',
      ),
    ),
  }),
  v.forward(
    v.check((fields) => namesRequester(fields), requesterMissing),
    ['self_review'],
  ),
  jsonSchema(v.pipe(fieldsSchema, v.title('NewAccessRequest'))),
);

/** The attributes of an item from the fields of a request or of a line of an import. */
export function attributesFrom(newRequest: NewAccessRequest) {
  const { expires_at, approvals_needed, ...fields } = newRequest;
  const defaultApprovals = expires_at === undefined ? undefined : 1;
  return {
    ...fields,
    approvals_needed: approvals_needed ?? defaultApprovals,
    open_until: expires_at,
  };
}

/** The item of an idempotency key: the access request that was created under it. */
const madeByKeyItem = itemKind(
  v.object({
    id: countField,
    created_at: timestampField,
    /** Epoch seconds. */
    expires_at: v.number(),
    /** Read by 1.0.0, which finishes only what has it. */
    is_claim: v.optional(v.literal(true)),
  }),
  keys.newAccessRequestKey,
);
type MadeByKey = v.InferOutput<typeof madeByKeyItem.schema>;

const referenceItem = itemKind(v.object({ access_request_id: v.number() }), keys.referenceKey);

/**
 * An access request as it was when it was created: a repeated request gets the answer of the first
 * one, whatever has been decided since.
 */
function asCreated(request: AccessRequest) {
  const undecided = {
    ...request,
    decision: undefined,
    decided_at: undefined,
    approvers: undefined,
  };
  return { ...shown(undecided), last_event_id: 0 };
}

type Attributes = Omit<AccessRequest, 'access_request_id' | 'created_at'>;

/**
 * Creates an access request for an account. A request that comes again with its `Idempotency-Key`
 * within 24 hours gets that of the first one, even when both arrive at once.
 * @throws ServiceError `conflict` when another access request has the reference,
 *   `unprocessable_entity` when the key came with other fields
 */
export async function createAccessRequestFor(
  accountId: string,
  fields: NewAccessRequest,
  idempotencyKey: string | undefined,
) {
  const attributes = { ...attributesFrom(fields), account_id: accountId };
  const request =
    idempotencyKey === undefined
      ? await createAccessRequest(attributes)
      : await createUnderKey(attributes, idempotencyKey);
  return asCreated(request);
}

/** Creates an access request, unless one was created under its idempotency key. */
async function createUnderKey(
  attributes: Attributes,
  idempotencyKey: string,
): Promise<AccessRequest> {
  const { account_id } = attributes;
  const key = madeByKeyItem(account_id, hashOfKey(account_id, idempotencyKey));
  const countsSince = keysCountSince();
  const earlier = await readItem(key);
  const isRepeated = earlier !== undefined && earlier.created_at >= countsSince;
  if (isRepeated) return madeEarlier(attributes, earlier);

  const id = await takeIds(1);
  const created_at = timestamp();
  const creation = creationOf({ ...attributes, access_request_id: id, created_at });
  const expires_at = epochSeconds() + keyLifetimeSeconds;
  const keyWrite = put(
    key,
    { id, created_at, expires_at, is_claim: true },
    { created_at: { isNotFrom: countsSince } },
  );
  const failed = await create(creation, keyWrite);
  if (!failed) return creation.request;
  const byOther = failed.get(keyWrite);
  // Another request with the key was faster.
  if (byOther) return madeEarlier(attributes, madeByKeyItem.parse(byOther));
  throw creationError(creation, failed);
}

/**
 * Creates an access request that its account has access to.
 * @throws ServiceError `conflict`
 */
export async function createAccessRequest(attributes: Attributes): Promise<AccessRequest> {
  const access_request_id = await takeIds(1);
  const creation = creationOf({ ...attributes, access_request_id, created_at: timestamp() });
  const failed = await create(creation);
  if (failed) throw creationError(creation, failed);
  return creation.request;
}

/** The writes that make an access request. */
interface Creation {
  request: AccessRequest;
  requestWrite: TransactionWrite;
  /** Undefined without a reference. */
  referenceWrite: TransactionWrite | undefined;
}

/** The writes that make an access request, put it into lists and keep its reference unique. */
export function creationOf(request: AccessRequest): Creation {
  const { access_request_id: id, account_id, reference, open_until } = request;
  const item = {
    ...request,
    list: keys.accessRequestsList,
    list_position: keys.ordinalIn('ACCESS_REQUEST', id),
    shard: open_until && keys.dueAccessRequestsShard,
    shard_position: open_until,
  };
  const ifAbsent = { pk: { exists: false } };
  const requestWrite = put(accessRequestItem(id), item, ifAbsent);
  if (reference === undefined) return { request, requestWrite, referenceWrite: undefined };
  const referenceKey = referenceItem(account_id, reference);
  const referenceWrite = put(referenceKey, { access_request_id: id }, ifAbsent);
  return { request, requestWrite, referenceWrite };
}

/**
 * Makes an access request with the access of its account, in one transaction.
 * @param more a write that belongs to it
 * @returns undefined when it is made, or else the writes whose conditions failed, each with the
 *   item that was found
 * @throws ServiceError `conflict` when the lists of the account take no more
 */
export async function create(creation: Creation, more?: TransactionWrite) {
  const { request, requestWrite, referenceWrite } = creation;
  const optional = [referenceWrite, more].filter((write) => write !== undefined);
  const writes = [requestWrite, ...accessWrites(request, request.account_id), ...optional];
  try {
    const outcome = await writeTogether(writes);
    return outcome.done ? undefined : outcome.refused;
  } catch (error) {
    if (!isPartitionFull(error)) throw error;
    throw new ServiceError(
      'conflict',
      'The account takes no more access requests; go on with another one.',
    );
  }
}

type FailedWrites = NonNullable<Awaited<ReturnType<typeof create>>>;

/**
 * The error for a creation whose writes failed: `conflict` if another access request has the
 * reference.
 */
export function creationError(creation: Creation, failed: FailedWrites): Error {
  const { request, referenceWrite } = creation;
  const found = referenceWrite && failed.get(referenceWrite);
  if (!found) return idIsTaken(request.access_request_id);
  return referenceIsTaken(referenceItem.parse(found).access_request_id);
}

const referenceIsTaken = (id: number) =>
  new ServiceError('conflict', `The access request ${id} has this reference.`);

/**
 * The error that the creation of an access request would end with now; undefined if there is none.
 */
export async function foreseeError(attributes: Attributes): Promise<ServiceError | undefined> {
  const { account_id, reference } = attributes;
  if (reference === undefined) return undefined;
  const found = await readItem(referenceItem(account_id, reference));
  return found && referenceIsTaken(found.access_request_id);
}

/** The attributes that come from the fields of a request. */
const sentAttributes = [
  'title',
  'reference',
  'requested_by',
  'approvals_needed',
  'self_review',
  'open_until',
] as const;

/**
 * The access request that was created under an idempotency key.
 * @param made what the key made
 * @throws ServiceError `unprocessable_entity` when it was created with other fields
 * @throws Error when another access request has its id
 */
async function madeEarlier(attributes: Attributes, made: MadeByKey): Promise<AccessRequest> {
  const { account_id } = attributes;
  const { id, created_at } = made;
  const [found, access] = await readItems([accessRequestItem(id), accessItem(id, account_id)]);
  const request =
    found ?? (await createUnlessThere({ ...attributes, access_request_id: id, created_at }));
  const isOfKey = request.account_id === account_id && request.created_at === created_at;
  if (!isOfKey) throw idIsTaken(id);
  const hasSameFields = sentAttributes.every((name) =>
    isDeepStrictEqual(request[name], attributes[name]),
  );
  if (!hasSameFields) throw usedForAnother();
  if (found) await grantLeftOut(found, access);
  return request;
}

/**
 * Creates the access request of a key that 1.0.0 stored before it was interrupted.
 * @returns the one that has the id then
 */
async function createUnlessThere(request: AccessRequest): Promise<AccessRequest> {
  const creation = creationOf(request);
  const failed = await create(creation);
  if (!failed) return request;
  const byOther = failed.get(creation.requestWrite);
  if (byOther) return accessRequestItem.parse(byOther);
  throw creationError(creation, failed);
}

/**
 * Gives the creator of an access request the access that 1.0.0 left out: it gave the access in a
 * later write, before which it could be interrupted. An access that an operator has taken away is
 * not given back.
 */
export async function grantLeftOut(
  request: AccessRequest,
  access: Access | undefined,
): Promise<void> {
  const isLeftOut = !access && request.creator_revoked_at === undefined;
  if (isLeftOut) await grantAccess(request, request.account_id);
}
