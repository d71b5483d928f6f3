import * as v from 'valibot';
import { queryChoice, queryText } from '../schema/form-parameters.ts';
import { countField, described, timestampField } from '../schema/json-schema.ts';
import { wholeList } from '../storage/keys.ts';
import { readLastOrdinal } from '../storage/lists.ts';
import { type AccessRequest, eventLists, readAccessRequest, requireAccess } from './access-request.ts';
import * as lists from './account-lists.ts';
import { decisionOf, decisions, isDue, settle } from './decision.ts';
import { actorSchema, actorTypes } from './event.ts';
import { ordering, paging, resultSchema } from './search-request.ts';

const fields = v.object({
  id: described(countField, 'The id of the access request.'),
  title: v.optional(v.string()),
  reference: v.optional(v.string()),
  requested_by: v.optional(actorSchema),
  approvals_needed: v.optional(described(countField, 'Absent where no decision is computed.')),
  self_review: v.optional(v.boolean()),
  expires_at: v.optional(timestampField),
  decision: described(
    v.picklist(decisions),
    '`none`: no decision is computed. Once it is `approved`, `rejected` or `expired`, it is final.',
  ),
  approvals: described(countField, 'How many different actors have approved, of those who count.'),
  decided_at: v.optional(timestampField),
  created_at: timestampField,
});

export const accessRequestSchema = v.pipe(fields, v.title('AccessRequest'));

export const oneAccessRequestSchema = v.pipe(
  v.object({
    ...fields.entries,
    last_event_id: described(
      countField,
      'The id of its last event, which is their number; 0 if there is none.',
    ),
  }),
  v.title('OneAccessRequest'),
);

/** An access request whose decision is settled, as accounts see it. */
export const shown = (request: AccessRequest): v.InferOutput<typeof accessRequestSchema> =>
  v.parse(accessRequestSchema, {
    ...request,
    id: request.access_request_id,
    expires_at: request.open_until,
    decision: decisionOf(request),
    approvals: request.approvers?.length ?? 0,
  });

/** Shows an access request with its decision. @throws ServiceError as `requireAccess` does */
export async function showAccessRequest(accountId: string, id: number) {
  const { granted_at } = await requireAccess(accountId, id);
  const events = eventLists(id).all;
  const [request, last_event_id] = await Promise.all([readAccessRequest(id), readLastOrdinal(events)]);
  // The access of a probe is to an access request that does not exist.
  const found = request ?? { access_request_id: id, account_id: accountId, created_at: granted_at };
  return { ...shown(await settle(found)), last_event_id };
}

export const accessRequestsQuery = {
  decision: queryChoice('decision', decisions, 'Only those with this decision.'),
  requested_by_type: queryChoice(
    'requested_by_type',
    actorTypes,
    'Only those that this type of actor requested.',
  ),
  requested_by_id: queryText('requested_by_id', 'Only those that this actor requested.'),
  reference: queryText('reference', 'Only those with this reference.'),
  order: ordering(['newest', 'oldest'], 'The order by id: the newest first, or the oldest.'),
  ...paging('access requests'),
};
type AccessRequestsSearch = v.InferOutput<v.ObjectSchema<typeof accessRequestsQuery, undefined>>;

export const accessRequestsPageSchema = resultSchema(
  accessRequestSchema,
  'access requests',
  'AccessRequestsPage',
);

/** The most marks about which a search reads the truth; of more, it brings the lists up to date. */
const fewMarks = 10;
/** The most marks that it brings the lists up to date about. */
const mostMarks = 100;

/**
 * Searches the access requests that an account has access to. Besides the page it reads the marks and the lists of the
 * filters: some hundred bytes for each 4,096 ids.
 */
export async function searchAccessRequests(accountId: string, search: AccessRequestsSearch) {
  const { page, page_size, order } = search;
  const offset = (page - 1) * page_size;
  const ascending = await findIds(accountId, search);
  const ids = (order === 'newest' ? ascending.reverse() : ascending).slice(offset, offset + page_size);
  const results = await readShown(accountId, ids);
  return { total: ascending.length, offset, count: results.length, results };
}

async function findIds(accountId: string, search: AccessRequestsSearch): Promise<number[]> {
  const { decision, requested_by_type, requested_by_id, reference } = search;
  const filters = lists.narrowLists(requested_by_type, requested_by_id, reference);
  const names = filters.length > 0 ? filters : [wholeList];
  const marks = await readFewMarks(accountId);
  const changed = new Set(marks.filter(({ about }) => about !== 'due').map(lists.idOf));
  const due = new Set(marks.filter(({ about }) => about === 'due').map(lists.idOf));
  const [[first = new Map(), ...others], truths] = await Promise.all([
    Promise.all(names.map((name) => lists.readList(accountId, name))),
    lists.readTruths(accountId, [...changed]),
  ]);
  const wanted = decision && lists.codeOf(decision);
  const ids: number[] = [];
  lists.forEachId(first, (id, stored) => {
    if (truths.has(id) || others.some((list) => lists.codeIn(list, id) === 0)) return;
    const code = stored === lists.codeOf('pending') && due.has(id) ? lists.codeOf('expired') : stored;
    if (wanted === undefined || code === wanted) ids.push(id);
  });
  for (const [id, { request, hasAccess }] of truths) {
    if (!request || !hasAccess || !names.every((name) => lists.listNamesOf(request).includes(name))) continue;
    if (decision === undefined || decisionOf(request) === decision) ids.push(id);
  }
  return truths.size > 0 ? ids.sort((a, b) => a - b) : ids;
}

async function readFewMarks(accountId: string) {
  const marks = await lists.readMarks(accountId);
  if (marks.length <= fewMarks) return marks;
  const some = marks.slice(0, mostMarks);
  await lists.refreshLists(accountId, some.map(lists.idOf), some);
  return lists.readMarks(accountId);
}

/** Shows some access requests, but for those that the account has no access to. */
export async function readShown(accountId: string, ids: number[]) {
  const truths = await lists.readTruths(accountId, ids, isDue);
  return ids.flatMap((id) => {
    const { request, hasAccess } = truths.get(id) ?? {};
    return request && hasAccess ? [shown(request)] : [];
  });
}
