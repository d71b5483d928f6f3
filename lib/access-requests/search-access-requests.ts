import type * as v from 'valibot';
import { queryChoice, queryText } from '../schema/form-parameters.ts';
import { referenceList, requesterIdList, requesterTypeList, wholeList } from '../storage/keys.ts';
import {
  codeIn,
  codeOf,
  forEachId,
  idOf,
  listsOf,
  readList,
  readMarks,
  readTruths,
  refreshLists,
} from './account-lists.ts';
import { decisionOf, decisions, isDue } from './decision.ts';
import { actorTypes } from './event.ts';
import { ordering, paging, resultSchema } from './search-request.ts';
import { accessRequestSchema, shown } from './shown-access-request.ts';

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

/** The marks that a search reads the truth of, rather than have the lists brought up to date. */
const fewMarks = 10;
/** The marks that it has taken care of at most. */
const mostMarks = 100;

/**
 * Searches the access requests that an account has access to. Besides the page's own items it reads the marks and the lists
 * of the filters: some hundred bytes for each 4,096 ids.
 */
export async function searchAccessRequests(accountId: string, search: AccessRequestsSearch) {
  const { page, page_size, order } = search;
  const offset = (page - 1) * page_size;
  const ascending = await findIds(accountId, search);
  const ids = (order === 'newest' ? ascending.reverse() : ascending).slice(offset, offset + page_size);
  const results = await readShown(accountId, ids);
  return { total: ascending.length, offset, count: results.length, results };
}

/** The ids of those that are found, ascending. */
async function findIds(accountId: string, search: AccessRequestsSearch): Promise<number[]> {
  const { decision, requested_by_type, requested_by_id, reference } = search;
  const filters = [
    requested_by_type && requesterTypeList(requested_by_type),
    requested_by_id && requesterIdList(requested_by_id),
    reference && referenceList(reference),
  ].filter((list) => list !== undefined);
  const names = filters.length > 0 ? filters : [wholeList];

  const marks = await readFewMarks(accountId);
  const changed = new Set(marks.filter(({ about }) => about !== 'due').map(idOf));
  const due = new Set(marks.filter(({ about }) => about === 'due').map(idOf));
  const [[first = new Map(), ...others], truths] = await Promise.all([
    Promise.all(names.map((name) => readList(accountId, name))),
    readTruths(accountId, [...changed]),
  ]);
  const wanted = decision && codeOf(decision);
  const ids: number[] = [];
  forEachId(first, (id, stored) => {
    if (truths.has(id) || others.some((list) => codeIn(list, id) === 0)) return;
    const code = stored === codeOf('pending') && due.has(id) ? codeOf('expired') : stored;
    if (wanted === undefined || code === wanted) ids.push(id);
  });
  for (const [id, { request, hasAccess }] of truths) {
    if (!request || !hasAccess || !names.every((name) => listsOf(request).includes(name))) continue;
    if (decision === undefined || decisionOf(request) === decision) ids.push(id);
  }
  return truths.size > 0 ? ids.sort((a, b) => a - b) : ids;
}

async function readFewMarks(accountId: string) {
  const marks = await readMarks(accountId);
  if (marks.length <= fewMarks) return marks;
  const some = marks.slice(0, mostMarks);
  await refreshLists(accountId, some.map(idOf), some);
  return readMarks(accountId);
}

/** Shows access requests that an account's lists have; one that it has no access to is left out. */
export async function readShown(accountId: string, ids: number[]) {
  const truths = await readTruths(accountId, ids, isDue);
  return ids.flatMap((id) => {
    const { request, hasAccess } = truths.get(id) ?? {};
    return request && hasAccess ? [shown(request)] : [];
  });
}
