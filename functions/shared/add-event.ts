import type * as v from 'valibot';
import { eventSchema } from '../../lib/access-requests/event.ts';
import { idempotencyKeySchema } from '../../lib/access-requests/idempotency.ts';
import { accessRequestIdSchema } from '../../lib/access-requests/search-request.ts';
import { writingAccount } from '../../lib/http/auth/account.ts';

/** Parts that the records of the endpoints that add an event, a comment or a review, share. */
export const addEventRecord = {
  authenticate: writingAccount,
  parameters: {
    path: { access_request_id: accessRequestIdSchema },
    headers: { 'idempotency-key': idempotencyKeySchema },
  },
  table: { access_requests: ['GetItem', 'BatchGetItem', 'Query', 'PutItem'] },
  idIs: 'event_id',
} as const;

/** Parts that the documents of these endpoints share. */
export const addEventDocument = {
  tag: 'Access requests',
  errors: {
    invalid_request: {
      when: 'The id of the access request or the Idempotency-Key is malformed, or the body is not a JSON object.',
      example: 'The body is not valid JSON.',
    },
    forbidden: {
      when: 'The account has no access to the access request, or there is none. Or the account may only read.',
      example: 'The account has no access to this access request.',
    },
    conflict: {
      when: 'The access request is full: its events take all the room that there is for one. Nothing was written, and no further event will be. Create another access request.',
      example: 'The access request is full: it takes no more events. Create another one to go on.',
    },
    temporarily_unavailable: {
      when: 'Too many are writing to this access request at once. Nothing was written: send the request again, with the same Idempotency-Key.',
      example: 'Too many are writing to this access request at once; send the request again.',
    },
  },
} as const;

/**
 * The response to an event that was added.
 * @param operationId of the search that returns it
 */
export const eventAdded = (
  name: string,
  operationId: string,
  example: v.InferOutput<typeof eventSchema>,
) => ({
  201: {
    description: `The ${name}, as a search returns it.`,
    body: eventSchema,
    example,
    links: {
      Find: {
        operationId,
        description: `A search for the id returns the ${name}.`,
        parameters: {
          access_request_id: '$response.body#/access_request_id',
          ids: '$response.body#/id',
        },
      },
    },
  },
});

export const invalidEvent =
  'Fields of the body are invalid, or the Idempotency-Key was used for another request.';
