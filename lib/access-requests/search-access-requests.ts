import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { readCursor, writeCursor } from '../schema/cursor.ts';
import { queryChoice, queryText } from '../schema/form-parameters.ts';
import { described } from '../schema/json-schema.ts';
import type { Conditions } from '../storage/expressions.ts';
import { readEach } from '../storage/items.ts';
import { hashOf } from '../storage/keys.ts';
import { type NumberedList, readOrdinals, sortKeyOf } from '../storage/lists.ts';
import { accessRequestItem } from './access-request.ts';
import { accessItem } from './accesses.ts';
import { listsOfAccount } from './account-lists.ts';
import { decisions, withExpiry } from './decision.ts';
import { actorTypes } from './event.ts';
import { ordering, pageSize } from './search-request.ts';
import { accessRequestSchema, shown } from './shown-access-request.ts';

export const accessRequestsQuery = {
  decision: queryChoice(
    'decision',
    decisions,
    'Only those with this decision. One that expires leaves `pending` at once, and is `expired` here within a minute or two.',
  ),
  requested_by_type: queryChoice(
    'requested_by_type',
    actorTypes,
    'Only those that this type of actor requested.',
  ),
  requested_by_id: queryText('requested_by_id', 'Only those that this actor requested.'),
  reference: queryText('reference', 'Only those with this reference.'),
  order: ordering(['newest', 'oldest'], 'The order by id: the newest first, or the oldest.'),
  page_size: pageSize('access requests'),
  cursor: queryText(
    'cursor',
    'The `next_cursor` of the page before, with the same filters and order.',
  ),
};
type AccessRequestsSearch = v.InferOutput<v.ObjectSchema<typeof accessRequestsQuery, undefined>>;

export const accessRequestsPageSchema = v.pipe(
  v.object({
    results: v.array(accessRequestSchema),
    next_cursor: described(
      v.optional(v.string()),
      'The `cursor` of the next page; absent on the last one. A page before that may have fewer members than `page_size`, or none.',
    ),
  }),
  v.title('AccessRequestsPage'),
);

/** The id after which a page begins. */
const positionSchema = v.object({ after: v.pipe(v.number(), v.safeInteger(), v.minValue(1)) });

/** A hash of the filters and the order of a search, to which its cursors belong. */
function hashOfSearch(search: AccessRequestsSearch): string {
  const filters = [
    search.decision ?? '',
    search.requested_by_type ?? '',
    search.requested_by_id ?? '',
    search.reference ?? '',
    search.order ?? '',
  ];
  return hashOf(...filters).slice(0, 11);
}

/** The most entries that a search reads beyond a page, looking for some that meet all filters. */
const mostFurther = 500;

/**
 * Searches the access requests that an account has access to. It reads the list of the filter that
 * leaves the fewest, and the store applies the other filters. However rare their combination is,
 * a search reads two parts of that list and the members of the page, no more.
 */
export async function searchAccessRequests(accountId: string, search: AccessRequestsSearch) {
  const { cursor, page_size } = search;
  const order = search.order === 'newest' ? 'descending' : 'ascending';
  const lists = listsOfFilters(accountId, search);
  const list = listOfFewest(lists) ?? listsOfAccount(accountId).all;
  const when = conditionsFor(search, lists, list);

  const of = hashOfSearch(search);
  const start = readCursor(positionSchema, cursor, of, 'filters and order');
  let after = start?.after;
  const found: number[] = [];
  // One more than the page tells whether there is another page.
  for (const limit of [page_size + 1, mostFurther]) {
    const { ordinals, next } = await readOrdinals(list, { order, after, limit }, when);
    found.push(...ordinals);
    after = next;
    if (after === undefined || found.length > page_size) break;
  }

  const ids = found.slice(0, page_size);
  const isFull = found.length > page_size;
  const last = isFull ? ids.at(-1) : after;
  const members = await readShown(accountId, ids);
  const results = members.filter((member) => matches(member, search));
  const next_cursor = last === undefined ? undefined : writeCursor({ after: last }, of);
  return { results, next_cursor };
}

/** The lists of the filters of a search; undefined for each filter that it does not have. */
function listsOfFilters(accountId: string, search: AccessRequestsSearch) {
  const { decision, requested_by_type: type, requested_by_id: id, reference } = search;
  const lists = listsOfAccount(accountId);
  const hasBoth = decision !== undefined && id !== undefined;
  return {
    reference: reference === undefined ? undefined : lists.ofReference(reference),
    decisionForRequester: hasBoth ? lists.ofDecisionForRequester(decision, id) : undefined,
    requesterId: id === undefined ? undefined : lists.ofRequesterId(id),
    decision: decision === undefined ? undefined : lists.ofDecision(decision),
    requesterType: type === undefined ? undefined : lists.ofRequesterType(type),
  };
}

type ListsOfFilters = ReturnType<typeof listsOfFilters>;

/** The list of the filter that leaves the fewest access requests; undefined without a filter. */
function listOfFewest(lists: ListsOfFilters): NumberedList | undefined {
  const fewestFirst = [
    lists.reference,
    lists.decisionForRequester,
    lists.requesterId,
    lists.decision,
    lists.requesterType,
  ];
  return fewestFirst.find((list) => list !== undefined);
}

/** Conditions for the filters other than that of the list, on the members of the list. */
function conditionsFor(
  search: AccessRequestsSearch,
  lists: ListsOfFilters,
  list: NumberedList,
): Conditions {
  // The index of references has no other attributes. Few access requests have the same reference,
  // so `matches` alone applies the other filters.
  if (list === lists.reference) return {};
  const conditions: Conditions = {};
  for (const other of [lists.requesterType, lists.requesterId, lists.decision]) {
    const isOther = other !== undefined && other !== list;
    if (isOther) conditions[sortKeyOf(other.index)] = { startsWith: `${other.name}#` };
  }
  if (search.decision === 'pending') conditions.open_until = { isNotUpTo: timestamp() };
  return conditions;
}

type Shown = ReturnType<typeof shown>;

/** Whether an access request meets every filter of a search. */
function matches(member: Shown, search: AccessRequestsSearch): boolean {
  const { decision, requested_by, reference } = member;
  const isMet = (filter: string | undefined, value: string | undefined) =>
    filter === undefined || filter === value;
  return (
    isMet(search.decision, decision) &&
    isMet(search.requested_by_type, requested_by?.actor_type) &&
    isMet(search.requested_by_id, requested_by?.actor_id) &&
    isMet(search.reference, reference)
  );
}

/**
 * Shows some access requests. Those that the account has no access to are left out: 1.0.0 leaves an
 * entry in the account's lists when it takes an access away.
 */
export async function readShown(accountId: string, ids: number[]): Promise<Shown[]> {
  const keys = ids.flatMap((id) => [accessRequestItem(id), accessItem(id, accountId)]);
  const itemOf = await readEach(keys);
  return ids.flatMap((id) => {
    const item = itemOf(accessRequestItem(id));
    const hasAccess = itemOf(accessItem(id, accountId)) !== undefined;
    if (!item || !hasAccess) return [];
    const request = accessRequestItem.parse(item);
    return [shown(withExpiry(request))];
  });
}
