import * as v from 'valibot';
import { actorTypes } from './event.ts';

const mostEventIds = 100;
export const largestPage = 100;

/** A positive whole number in decimal digits; 13 of them leave room for (page - 1) * page_size. */
const wholeNumber = (message: string) =>
  v.pipe(v.string(message), v.regex(/^0*[1-9]\d{0,12}$/, message), v.transform(Number));

/** The parameter of the path. */
export const accessRequestId = wholeNumber('The access_request_id must be a positive integer.');

/** A query parameter that comes once. */
const once = <Output>(name: string, schema: v.GenericSchema<string, Output>) =>
  v.pipe(
    v.array(v.string()),
    v.maxLength(1, `The parameter ${name} is repeated.`),
    v.transform(([value = '']) => value),
    schema,
  );

const eventIds = v.pipe(
  v.array(v.string()),
  v.transform((values) => values.join(',').split(',')),
  v.maxLength(mostEventIds, `The parameter ids takes at most ${mostEventIds} ids.`),
  v.array(wholeNumber('The parameter ids must be event ids (positive integers) joined by commas.')),
);

const actorType = v.picklist(actorTypes, `The parameter actor_type must be ${actorTypes.join(' or ')}.`);
const page = wholeNumber('The parameter page must be a positive integer.');
const pageSizeMessage = `The parameter page_size must be an integer from 1 to ${largestPage}.`;
const pageSize = v.pipe(wholeNumber(pageSizeMessage), v.maxValue(largestPage, pageSizeMessage));

/** The query parameters of a search. */
export const searchQuery = {
  actor_type: v.optional(once('actor_type', actorType)),
  actor_id: v.optional(once('actor_id', v.pipe(v.string(), v.nonEmpty('The parameter actor_id is empty.')))),
  ids: v.optional(eventIds),
  page: v.optional(once('page', page), ['1']),
  page_size: v.optional(once('page_size', pageSize), ['8']),
};
export type SearchRequest = { access_request_id: number } & v.InferOutput<
  v.ObjectSchema<typeof searchQuery, undefined>
>;
