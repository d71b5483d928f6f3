import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import { platforms } from '../login-apps/platforms.ts';
import { integerBetween, once } from '../schema/form-parameters.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import { shards } from '../storage/shards.ts';

const mostRecipients = 1_000;

const text = (name: string) => once(name, v.pipe(v.string(), v.nonEmpty(`The parameter ${name} is empty.`)));

/** The query parameters of a sender: a person, or a shard of the Login App's devices. */
export const recipientsQuery = {
  login_user_id: v.pipe(
    v.optional(text('login_user_id')),
    jsonSchema({ type: 'string', minLength: 1 }),
    v.description('Devices of this person. Either this or `shard`.'),
  ),
  shard: v.pipe(
    v.optional(integerBetween('shard', 0, shards.length - 1)),
    jsonSchema({ type: 'integer', minimum: 0, maximum: shards.length - 1 }),
    v.description('Devices of this shard: each device of the Login App is in one of the 16.'),
  ),
  limit: v.pipe(
    v.optional(integerBetween('limit', 1, mostRecipients)),
    jsonSchema({ type: 'integer', minimum: 1, maximum: mostRecipients, default: 100 }),
    v.description('With `shard`: how many devices a page has at most.'),
  ),
  cursor: v.pipe(
    v.optional(text('cursor')),
    jsonSchema({ type: 'string', minLength: 1 }),
    v.description(
      'With `shard`: the `next_cursor` of the page before, with the same `shard` and `platform`.',
    ),
  ),
  platform: v.pipe(
    v.optional(
      once('platform', v.picklist(platforms, `The parameter platform must be ${platforms.join(' or ')}.`)),
    ),
    jsonSchema({ type: 'string', enum: platforms }),
    v.description('Only devices of this platform.'),
  ),
};
type Query = v.InferOutput<v.ObjectSchema<typeof recipientsQuery, undefined>>;

/** The people whose devices a sender asks for. */
export type RecipientsRequest = Pick<Query, 'platform'> &
  ({ login_user_id: string } | { shard: number; limit: number; cursor: string | undefined });

/** @throws ServiceError `invalid_request` unless it is either a person or a shard, and pages only of a shard */
export function recipientsRequest(query: Query): RecipientsRequest {
  const { login_user_id, shard, limit, cursor, platform } = query;
  if (login_user_id === undefined && shard !== undefined)
    return { shard, limit: limit ?? 100, cursor, platform };
  if (login_user_id === undefined || shard !== undefined) {
    throw new ServiceError(
      'invalid_request',
      'Send either the parameter login_user_id or the parameter shard.',
    );
  }
  if (limit !== undefined || cursor !== undefined)
    throw new ServiceError('invalid_request', 'The parameters limit and cursor go with the parameter shard.');
  return { login_user_id, platform };
}
