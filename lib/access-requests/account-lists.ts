import * as v from 'valibot';
import { definedOnly } from '../foundation/defined-only.ts';
import { type ItemOf, itemKind } from '../storage/items.ts';
import * as keys from '../storage/keys.ts';
import { type NumberedList, sortKeyOf } from '../storage/lists.ts';
import type { LocalIndex } from '../storage/table.ts';
import type { AccessRequest } from './access-request.ts';
import { decisionOf } from './decision.ts';

const optionalText = v.optional(v.string());

/** The entry of an access request in an account's lists: its sort key in each of them. */
export const entryItem = itemKind(
  v.object({
    /** The `open_until` of one that is stored as pending. */
    open_until: optionalText,
    actor_type_ordinal: optionalText,
    actor_id_ordinal: optionalText,
    actor_ordinal: optionalText,
    review_ordinal: optionalText,
    idempotency_key: optionalText,
  }),
  keys.listEntryKey,
);

/**
 * The lists of an account's access requests. Their ordinals are the ids. They lie in the indexes of
 * an access request's events.
 */
export function listsOfAccount(accountId: string) {
  const pk = keys.accessRequestsOfAccountList(accountId);
  const list = (name: string, index?: LocalIndex): NumberedList => ({ pk, index, name });
  return {
    all: list(keys.entryList),
    ofDecision: (decision: string) => list(keys.decisionList(decision), 'by_review'),
    ofRequesterType: (type: string) => list(keys.actorTypeList(type), 'by_actor_type'),
    ofRequesterId: (id: string) => list(keys.actorIdList(id), 'by_actor_id'),
    ofDecisionForRequester: (decision: string, id: string) =>
      list(keys.decisionForRequesterList(decision, id), 'by_actor'),
    /** A list in an index that has no other attributes. */
    ofReference: (reference: string) => list(keys.referenceList(reference), 'by_idempotency_key'),
  };
}

/** The entry of an access request in an account's lists, with the decision that is stored. */
export function entryOf(request: AccessRequest): ItemOf<typeof entryItem> {
  const { access_request_id: id, requested_by: requester, reference, open_until } = request;
  const decision = decisionOf(request);
  // Only the names of the lists matter here, and these are the same for all accounts.
  const lists = listsOfAccount('');

  const joined = [lists.ofDecision(decision)];
  if (requester) {
    joined.push(lists.ofRequesterType(requester.actor_type));
    joined.push(lists.ofRequesterId(requester.actor_id));
    joined.push(lists.ofDecisionForRequester(decision, requester.actor_id));
  }
  if (reference !== undefined) joined.push(lists.ofReference(reference));

  const positions = joined.map(({ index, name }) => {
    const sortKey = sortKeyOf(index);
    return [sortKey, keys.ordinalIn(name, id)];
  });
  const entry = Object.fromEntries(positions);
  return decision === 'pending' ? definedOnly({ ...entry, open_until }) : entry;
}
