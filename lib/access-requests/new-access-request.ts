import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { jsonSchema, timeField } from '../schema/json-schema.ts';
import { jsonObject } from '../schema/validation.ts';
import { actorFields, nameText } from './new-event.ts';

const mostApprovals = 10;
const approvalsMessage = `approvals_needed must be an integer from 1 to ${mostApprovals}.`;

/** Fields of a new access request, as a line of an import has them too. */
export const newAccessRequestFields = {
  title: v.pipe(v.optional(nameText('title')), v.description('What it is about, for people.')),
  reference: v.pipe(
    v.optional(nameText('reference')),
    v.description('Its id in your own system; the account has no other access request with it.'),
  ),
  requested_by: v.pipe(
    v.optional(
      v.object(actorFields, ({ path }) =>
        path ? `requested_by.${String(path[0]?.key)} is required.` : 'requested_by must be an object.',
      ),
    ),
    v.description('Who asks for approval.'),
  ),
  approvals_needed: v.pipe(
    v.optional(
      v.pipe(
        v.number(approvalsMessage),
        v.integer(approvalsMessage),
        v.minValue(1, approvalsMessage),
        v.maxValue(mostApprovals, approvalsMessage),
        jsonSchema({ type: 'integer', minimum: 1, maximum: mostApprovals }),
      ),
    ),
    v.description(
      'How many different actors have to approve. A decision is computed if this or `expires_at` is given; 1 is then the default.',
    ),
  ),
  self_review: v.pipe(
    v.optional(v.boolean('self_review must be true or false.')),
    v.description('Whether reviews of who requested it count. By default, they do.'),
  ),
  expires_at: v.pipe(
    timeField('expires_at'),
    v.description('When it expires, unless it is decided before: RFC 3339, in the future.'),
  ),
};
const fieldsSchema = v.object(newAccessRequestFields);
export type NewAccessRequest = v.InferOutput<typeof fieldsSchema>;

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

/** The attributes of an access request that its fields say. */
export const attributesOf = ({ expires_at, approvals_needed, ...fields }: NewAccessRequest) => ({
  ...fields,
  approvals_needed: approvals_needed ?? (expires_at === undefined ? undefined : 1),
  open_until: expires_at,
});
