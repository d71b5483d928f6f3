import * as v from 'valibot';
import { countField, described, timestampField } from '../schema/json-schema.ts';
import { readLastOrdinal } from '../storage/lists.ts';
import { type AccessRequest, eventLists, readAccessRequest } from './access-request.ts';
import { requireAccess } from './accesses.ts';
import { currentOf, decisionOf, decisions } from './decision.ts';
import { actorSchema } from './event.ts';

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

/** An access request as accounts see it, with the decision that it has as it stands. */
export const shown = (request: AccessRequest): v.InferOutput<typeof accessRequestSchema> =>
  v.parse(accessRequestSchema, {
    ...request,
    id: request.access_request_id,
    expires_at: request.open_until,
    decision: decisionOf(request),
    approvals: request.approvers?.length ?? 0,
  });

/**
 * Shows an access request with its decision.
 * @throws ServiceError as `requireAccess` does
 */
export async function showAccessRequest(accountId: string, id: number) {
  const { granted_at } = await requireAccess(accountId, id);
  const events = eventLists(id).all;
  const [request, last_event_id] = await Promise.all([
    readAccessRequest(id),
    readLastOrdinal(events),
  ]);
  // The access of a probe is to an access request that does not exist.
  const found = request ?? { access_request_id: id, account_id: accountId, created_at: granted_at };
  return { ...shown(await currentOf(found)), last_event_id };
}
