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

/** Fields of a new access request, also in a line of an import. */
export const newAccessRequestFields = {
  title: described(v.optional(nameField('title')), 'What it is about, for people.'),
  reference: described(
    v.optional(nameField('reference')),
    'Its id in your own system; the account has no other access request with it.',
  ),
  requested_by: described(
    v.optional(
      v.object(actorFields, ({ path }) =>
        path
          ? `requested_by.${String(path[0]?.key)} is required.`
          : 'requested_by must be an object.',
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
    'Whether reviews of who requested it count. By default, they do. `false` takes `requested_by`.',
  ),
  expires_at: described(
    timeField('expires_at'),
    'When it expires, unless it is decided before: RFC 3339, in the future.',
  ),
};
const fieldsSchema = v.object(newAccessRequestFields);
type NewAccessRequest = v.InferOutput<typeof fieldsSchema>;

/** Whether `self_review: false` protects anything: it is about reviews of the one who is named. */
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

export const attributesOf = ({ expires_at, approvals_needed, ...fields }: NewAccessRequest) => ({
  ...fields,
  approvals_needed: approvals_needed ?? (expires_at === undefined ? undefined : 1),
  open_until: expires_at,
});

/**
 * The item of an idempotency key: the access request that it made. `expires_at` is in epoch
 * seconds.
 */
const madeByKeyItem = itemKind(
  v.object({
    id: countField,
    created_at: timestampField,
    expires_at: v.number(),
    /** Read by 1.0.0, which finishes only what has it. */
    is_claim: v.optional(v.literal(true)),
  }),
  keys.newAccessRequestKey,
);
type MadeByKey = v.InferOutput<typeof madeByKeyItem.schema>;

const referenceItem = itemKind(v.object({ access_request_id: v.number() }), keys.referenceKey);

/** An access request as its creation shows it: a repetition gets the answer of the first one. */
function asCreated(request: AccessRequest) {
  const { decision: _, decided_at: __, approvers: ___, ...created } = request;
  return { ...shown(created), last_event_id: 0 };
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
  const attributes = { ...attributesOf(fields), account_id: accountId };
  if (idempotencyKey === undefined) return asCreated(await createAccessRequest(attributes));
  const key = madeByKeyItem(accountId, hashOfKey(accountId, idempotencyKey));
  const countsSince = keysCountSince();
  const earlier = await readItem(key);
  if (earlier && earlier.created_at >= countsSince)
    return asCreated(await madeEarlier(attributes, earlier));
  const made = { id: await takeIds(1), created_at: timestamp() };
  const lasting = {
    ...made,
    expires_at: epochSeconds() + keyLifetimeSeconds,
    is_claim: true,
  } as const;
  const use = put(key, lasting, { created_at: { isNotFrom: countsSince } });
  const creation = creationOf({
    ...attributes,
    access_request_id: made.id,
    created_at: made.created_at,
  });
  const refused = await create(creation, use);
  const byOther = refused?.get(use);
  if (byOther) return asCreated(await madeEarlier(attributes, madeByKeyItem.parse(byOther)));
  if (refused) throw refusalOf(creation, refused);
  return asCreated(creation.request);
}

/**
 * Creates an access request that its account has access to.
 * @throws ServiceError `conflict`
 */
export async function createAccessRequest(attributes: Attributes): Promise<AccessRequest> {
  const access_request_id = await takeIds(1);
  const creation = creationOf({ ...attributes, access_request_id, created_at: timestamp() });
  const refused = await create(creation);
  if (refused) throw refusalOf(creation, refused);
  return creation.request;
}

/** The writes that make an access request. */
interface Creation {
  request: AccessRequest;
  itself: TransactionWrite;
  /** Undefined without a reference. */
  reference: TransactionWrite | undefined;
}

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
  return {
    request,
    itself: put(accessRequestItem(id), item, ifAbsent),
    reference:
      reference === undefined
        ? undefined
        : put(referenceItem(account_id, reference), { access_request_id: id }, ifAbsent),
  };
}

/**
 * Makes an access request with the access of its account, in one transaction.
 * @param more a write that belongs to it
 * @returns undefined when it is made, or the writes that were refused, with what was found
 * @throws ServiceError `conflict` when the lists of the account take no more
 */
export async function create({ request, itself, reference }: Creation, more?: TransactionWrite) {
  const optional = [reference, more].filter((write) => write !== undefined);
  const writes = [itself, ...accessWrites(request, request.account_id), ...optional];
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

type Refused = NonNullable<Awaited<ReturnType<typeof create>>>;

/**
 * The error for a creation that was refused: `conflict` if its reference is another's, which it
 * names.
 */
export function refusalOf({ request, reference }: Creation, refused: Refused): Error {
  const owner = reference && refused.get(reference);
  if (!owner) return idIsTaken(request.access_request_id);
  return isReferenceOf(referenceItem.parse(owner).access_request_id);
}

const isReferenceOf = (id: number) =>
  new ServiceError('conflict', `The access request ${id} has this reference.`);

/**
 * The error that the creation of an access request would end with now; undefined if there is none.
 */
export async function foreseeRefusal({ account_id, reference }: Attributes) {
  const owner =
    reference === undefined ? undefined : await readItem(referenceItem(account_id, reference));
  return owner && isReferenceOf(owner.access_request_id);
}

const sent = [
  'title',
  'reference',
  'requested_by',
  'approvals_needed',
  'self_review',
  'open_until',
] as const;

/**
 * The access request that a key made before.
 * @throws Error when another one has its id
 */
async function madeEarlier(
  attributes: Attributes,
  { id, created_at }: MadeByKey,
): Promise<AccessRequest> {
  const { account_id } = attributes;
  const [found, access] = await readItems([accessRequestItem(id), accessItem(id, account_id)]);
  const request =
    found ?? (await createUnlessThere({ ...attributes, access_request_id: id, created_at }));
  if (request.account_id !== account_id || request.created_at !== created_at) throw idIsTaken(id);
  if (!sent.every((field) => isDeepStrictEqual(request[field], attributes[field])))
    throw usedForAnother();
  if (found) await grantLeftOut(found, access);
  return request;
}

/**
 * Creates the access request of a key that 1.0.0 stored before it was interrupted.
 * @returns the one that has the id then
 */
async function createUnlessThere(request: AccessRequest): Promise<AccessRequest> {
  const creation = creationOf(request);
  const refused = await create(creation);
  const byOther = refused?.get(creation.itself);
  if (byOther) return accessRequestItem.parse(byOther);
  if (refused) throw refusalOf(creation, refused);
  return request;
}

/**
 * Gives the creator of an access request the access that 1.0.0, which gave it in a later write, has
 * left out when it was interrupted. An access that an operator took away stays away.
 */
export async function grantLeftOut(
  request: AccessRequest,
  access: Access | undefined,
): Promise<void> {
  const isLeftOut = !access && request.creator_revoked_at === undefined;
  if (isLeftOut) await grantAccess(request, request.account_id);
}
