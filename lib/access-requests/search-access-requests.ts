import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { invalid } from '../foundation/service-error.ts';
import { queryChoice, queryText } from '../schema/form-parameters.ts';
import { described } from '../schema/json-schema.ts';
import { readEach } from '../storage/items.ts';
import { hashOf } from '../storage/keys.ts';
import { type NumberedList, readOrdinals, sortKeyOf } from '../storage/lists.ts';
import { accessRequestItem } from './access-request.ts';
import { accessItem } from './accesses.ts';
import { listsOfAccount } from './account-lists.ts';
import { atThisTime, decisions } from './decision.ts';
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

/**
 * The place where a page ended, and a hash of what it was a page of. It is not signed: it names
 * nothing but an id.
 */
const placeSchema = v.object({
  after: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  of: v.string(),
});

function writeCursor(search: AccessRequestsSearch, after: number): string {
  const {
    decision = '',
    requested_by_type: type = '',
    requested_by_id: id = '',
    reference = '',
  } = search;
  const of = hashOf(decision, type, id, reference, search.order ?? '').slice(0, 11);
  return Buffer.from(JSON.stringify({ after, of })).toString('base64url');
}

function readCursor(search: AccessRequestsSearch, cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString();
  const { success, output: place } = v.safeParse(
    v.pipe(v.string(), v.parseJson(), placeSchema),
    text,
  );
  if (success && writeCursor(search, place.after) === cursor) return place.after;
  throw invalid(
    'The parameter cursor must be the next_cursor of the page before, with the same filters and order.',
  );
}

/** The most entries that a search reads beyond a page, looking for some that meet all filters. */
const mostFurther = 500;

/**
 * Searches the access requests that an account has access to, in the list of the filter that leaves
 * the fewest. The other filters narrow what is read. However rare their combination is, it reads
 * two parts of that list and the page, no more.
 */
export async function searchAccessRequests(accountId: string, search: AccessRequestsSearch) {
  const { cursor, page_size } = search;
  const order = search.order === 'newest' ? 'descending' : 'ascending';
  const { list, when } = filtersOf(accountId, search);
  const found: number[] = [];
  let after = cursor === undefined ? undefined : readCursor(search, cursor);
  // One more than the page tells whether there is another page.
  for (const limit of [page_size + 1, mostFurther]) {
    const { ordinals, next } = await readOrdinals(list, { order, after, limit }, when);
    found.push(...ordinals);
    after = next;
    if (after === undefined || found.length > page_size) break;
  }
  const ids = found.slice(0, page_size);
  const last = found.length > page_size ? ids.at(-1) : after;
  const results = (await readShown(accountId, ids)).filter((one) => matches(one, search));
  return { results, next_cursor: last === undefined ? undefined : writeCursor(search, last) };
}

/** The list of one filter, and conditions for the others on its members. */
function filtersOf(accountId: string, search: AccessRequestsSearch) {
  const { decision, requested_by_type: type, requested_by_id: id, reference } = search;
  const lists = listsOfAccount(accountId);
  // The index of references has no other attributes. Few have the same reference, so the others are
  // compared later.
  if (reference !== undefined) return { list: lists.ofReference(reference), when: {} };
  const ofDecision = decision && lists.ofDecision(decision);
  const ofType = type && lists.ofRequesterType(type);
  const ofId = id === undefined ? undefined : lists.ofRequesterId(id);
  const ofBoth =
    decision && id !== undefined ? lists.ofDecisionForRequester(decision, id) : undefined;
  const list = ofBoth ?? ofId ?? ofDecision ?? ofType ?? lists.all;
  const others = [ofType, ofId, ofDecision].filter(
    (other) => other !== undefined && other !== list,
  );
  const when = Object.fromEntries(others.flatMap((other) => (other ? [memberOf(other)] : [])));
  return {
    list,
    when: decision === 'pending' ? { ...when, open_until: { isNotUpTo: timestamp() } } : when,
  };
}

const memberOf = ({ index, name }: NumberedList) =>
  [sortKeyOf(index), { startsWith: `${name}#` }] as const;

type Shown = ReturnType<typeof shown>;

function matches(
  { decision, requested_by, reference }: Shown,
  search: AccessRequestsSearch,
): boolean {
  const wanted = {
    decision: [search.decision, decision],
    type: [search.requested_by_type, requested_by?.actor_type],
    id: [search.requested_by_id, requested_by?.actor_id],
    reference: [search.reference, reference],
  };
  return Object.values(wanted).every(([value, own]) => value === undefined || value === own);
}

/**
 * Shows some access requests, but for those that the account has no access to: 1.0.0 leaves an
 * entry when it takes one away.
 */
export async function readShown(accountId: string, ids: number[]): Promise<Shown[]> {
  const keys = ids.flatMap((id) => [accessRequestItem(id), accessItem(id, accountId)]);
  const itemOf = await readEach(keys);
  return ids.flatMap((id) => {
    const request = itemOf(accessRequestItem(id));
    const hasAccess = itemOf(accessItem(id, accountId)) !== undefined;
    return request && hasAccess ? [shown(atThisTime(accessRequestItem.parse(request)))] : [];
  });
}
