import * as v from 'valibot';
import { once } from '../schema/form-parameters.ts';
import { countField, jsonSchema } from '../schema/json-schema.ts';
import { actorTypes } from './event.ts';

const mostEventIds = 100;
export const largestPage = 100;

/** A positive whole number in decimal digits; 13 of them leave room for (page - 1) * page_size. */
const positiveInteger = (message: string) =>
  v.pipe(v.string(message), v.regex(/^0*[1-9]\d{0,12}$/, message), v.transform(Number));
const largestNumber = 9_999_999_999_999;
const numberInText = (maximum: number) => ({ type: 'integer', minimum: 1, maximum });

/** The parameter of the path. */
export const accessRequestIdSchema = v.pipe(
  positiveInteger('The access_request_id must be a positive integer.'),
  jsonSchema(numberInText(largestNumber)),
  v.description('The id of the access request.'),
);

const eventIdsSchema = v.pipe(
  v.array(v.string()),
  v.transform((values) => values.join(',').split(',')),
  v.maxLength(mostEventIds, `The parameter ids takes at most ${mostEventIds} ids.`),
  v.array(positiveInteger('The parameter ids must be event ids (positive integers) joined by commas.')),
);

/** A parameter that takes one of some values. */
export const choice = <const Options extends readonly string[]>(name: string, options: Options) =>
  v.pipe(
    v.optional(once(name, v.picklist(options, `The parameter ${name} must be ${options.join(' or ')}.`))),
    jsonSchema({ type: 'string', enum: options }),
  );
/** A parameter that takes a text. */
export const text = (name: string) =>
  v.pipe(
    v.optional(once(name, v.pipe(v.string(), v.nonEmpty(`The parameter ${name} is empty.`)))),
    jsonSchema({ type: 'string', minLength: 1 }),
  );

/** The order by id: the oldest event first, or the newest. */
const orders = ['asc', 'desc'] as const;

const page = positiveInteger('The parameter page must be a positive integer.');
const pageSizeMessage = `The parameter page_size must be an integer from 1 to ${largestPage}.`;
const pageSizeSchema = v.pipe(positiveInteger(pageSizeMessage), v.maxValue(largestPage, pageSizeMessage));

/** The parameters of a page. @param members such as `events` */
export const paging = (members: string) => ({
  page: v.pipe(
    v.optional(once('page', page), ['1']),
    jsonSchema({ ...numberInText(largestNumber), default: 1 }),
    v.description('The number of the page, from 1.'),
  ),
  page_size: v.pipe(
    v.optional(once('page_size', pageSizeSchema), ['8']),
    jsonSchema({ ...numberInText(largestPage), default: 8 }),
    v.description(`How many ${members} a page has at most.`),
  ),
});

/** The envelope of a search: how many were found, those before this page, those on it, and themselves. */
export const resultSchema = <Member extends v.GenericSchema>(
  member: Member,
  members: string,
  title: string,
) =>
  v.pipe(
    v.object({
      total: v.pipe(countField, v.description(`How many ${members} were found, on all pages.`)),
      offset: v.pipe(countField, v.description('How many of them stand before this page.')),
      count: v.pipe(countField, v.description('How many are on this page.')),
      results: v.array(member),
    }),
    v.title(title),
  );

export const searchQuery = {
  type: v.pipe(choice('type', ['review']), v.description('Only reviews.')),
  actor_type: v.pipe(choice('actor_type', actorTypes), v.description('Only events of this type of author.')),
  actor_id: v.pipe(text('actor_id'), v.description('Only events of this author.')),
  ids: v.pipe(
    v.optional(eventIdsSchema),
    jsonSchema({ type: 'array', minItems: 1, maxItems: mostEventIds, items: numberInText(largestNumber) }),
    v.description('Only events with these ids, joined by commas.'),
  ),
  order: v.pipe(
    v.optional(choice('order', orders), ['asc']),
    jsonSchema({ type: 'string', enum: orders, default: 'asc' }),
    v.description('The order of the events by their ids: ascending, or descending (the newest first).'),
  ),
  ...paging('events'),
};
export type SearchRequest = { access_request_id: number } & v.InferOutput<
  v.ObjectSchema<typeof searchQuery, undefined>
>;
