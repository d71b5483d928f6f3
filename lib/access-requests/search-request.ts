import * as v from 'valibot';
import { once, queryChoice, queryText } from '../schema/form-parameters.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import { actorTypes } from './event.ts';

const mostEventIds = 100;
export const largestPage = 100;

/** A positive whole number in decimal digits; 13 of them leave room for (page - 1) * page_size. */
const positiveInteger = (message: string) =>
  v.pipe(v.string(message), v.regex(/^0*[1-9]\d{0,12}$/, message), v.transform(Number));
const largestNumber = 9_999_999_999_999;
const numberInText = (maximum: number) => ({ type: 'integer', minimum: 1, maximum });

export const accessRequestIdSchema = v.pipe(
  positiveInteger('The access_request_id must be a positive integer.'),
  jsonSchema(numberInText(largestNumber)),
  v.description('The id of the access request.'),
);

const eventIdsSchema = v.pipe(
  v.array(v.string()),
  v.transform((values) => values.join(',').split(',')),
  v.maxLength(mostEventIds, `The parameter ids takes at most ${mostEventIds} ids.`),
  v.array(
    positiveInteger('The parameter ids must be event ids (positive integers) joined by commas.'),
  ),
);

/**
 * The order of a search.
 * @param orders the default comes first
 */
export const ordering = <const Order extends string>(orders: [Order, Order], description: string) =>
  v.pipe(
    v.optional(queryChoice('order', orders, description), [orders[0]]),
    jsonSchema({ type: 'string', enum: orders, default: orders[0] }),
    v.description(description),
  );

const page = positiveInteger('The parameter page must be a positive integer.');
const pageSizeMessage = `The parameter page_size must be an integer from 1 to ${largestPage}.`;
const pageSizeSchema = v.pipe(
  positiveInteger(pageSizeMessage),
  v.maxValue(largestPage, pageSizeMessage),
);

/** How many members a page has at most. */
export const pageSize = (members: string) =>
  v.pipe(
    v.optional(once('page_size', pageSizeSchema), ['8']),
    jsonSchema({ ...numberInText(largestPage), default: 8 }),
    v.description(`How many ${members} a page has at most.`),
  );

export const searchQuery = {
  type: queryChoice('type', ['review'], 'Only reviews.'),
  actor_type: queryChoice('actor_type', actorTypes, 'Only events of this type of author.'),
  actor_id: queryText('actor_id', 'Only events of this author.'),
  ids: v.pipe(
    v.optional(eventIdsSchema),
    jsonSchema({
      type: 'array',
      minItems: 1,
      maxItems: mostEventIds,
      items: numberInText(largestNumber),
    }),
    v.description('Only events with these ids, joined by commas.'),
  ),
  order: ordering(
    ['asc', 'desc'],
    'The order of the events by their ids: ascending, or descending (the newest first).',
  ),
  page: v.pipe(
    v.optional(once('page', page), ['1']),
    jsonSchema({ ...numberInText(largestNumber), default: 1 }),
    v.description('The number of the page, from 1.'),
  ),
  page_size: pageSize('events'),
};
export type SearchRequest = { access_request_id: number } & v.InferOutput<
  v.ObjectSchema<typeof searchQuery, undefined>
>;
