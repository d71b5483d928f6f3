import { isUtf8 } from 'node:buffer';
import type { MiddlewareObj } from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import httpUrlencodeBodyParser from '@middy/http-urlencode-body-parser';
import type { APIGatewayProxyEventV2 as ApiEvent } from 'aws-lambda';
import * as v from 'valibot';
import type { ServiceError } from '../foundation/service-error.ts';
import { annotateLog } from '../log/request-fields.ts';
import { leftOutFields } from '../schema/ignored-fields.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import { invalidRequest, type MakeError, validated } from '../schema/validation.ts';
import { undecodableParameter } from './percent-encoding.ts';

export const formType = 'application/x-www-form-urlencoded';

type EventWithBody = ApiEvent & { body: string };
type Parser = MiddlewareObj<EventWithBody>;

export interface Body<Content> {
  contentType: 'application/json' | typeof formType | 'application/secevent+jwt';
  /**
   * Middy's parser, which leaves bodies of other content types to others; absent where the schema
   * reads the text.
   */
  parser?: Parser;
  /** The most bytes. A longer body is refused before anything else looks at the request. */
  mostBytes: number;
  schema: v.GenericSchema<unknown, Content>;
  /** No body counts as an empty object. */
  isOptional?: true;
  makeError: MakeError;
  /** Bodies of other content types that the endpoint takes. */
  others?: Body<Content>[];
  /** For one of `others`. */
  example?: unknown;
  /** The form of a 400, where the protocol has its own. */
  badRequest?: {
    schema: v.GenericSchema;
    render: (error: ServiceError) => { body: object; headers: Record<string, string> };
  };
}

/** Each name of a form with its value, or with its values if it is repeated. */
export type Form = Readonly<Record<string, string | string[] | undefined>>;

/** The body for the content type of a request, or else the first. */
export function bodyFor<Content>(
  body: Body<Content>,
  { headers }: Pick<ApiEvent, 'headers'>,
): Body<Content> {
  const type = mediaType(headers);
  return body.others?.find(({ contentType }) => contentType === type) ?? body;
}

/**
 * The content type without its parameters, before which there may be white space (RFC 9110 section
 * 5.6.6).
 */
export function mediaType(headers: ApiEvent['headers']): string {
  const [type = ''] = headers['content-type']?.split(';') ?? [];
  return type.trim().toLowerCase();
}

/**
 * The most parameters of a form. Middy's parser would silently ignore those after the thousandth.
 */
const mostParameters = 100;
/**
 * The most values in JSON: middy's parser calls a function for each, which takes longer than all
 * else.
 */
const mostValues = 1_000;

/** A device: its token has at most 4,096 characters. */
const usualJsonBytes = 16 * 1024;
/** Several credentials of 16 KiB, some of them with percent-encoded characters. */
const usualFormBytes = 64 * 1024;

/** Options of a parser that does nothing with bodies of other content types. */
const ofItsTypeAlone = { disableContentTypeError: true };

interface Limit {
  mostBytes?: number;
}

export const json = <Content>(
  schema: v.GenericSchema<unknown, Content>,
  makeError: MakeError,
  { mostBytes = usualJsonBytes }: Limit = {},
): Body<Content> => ({
  contentType: 'application/json',
  parser: httpJsonBodyParser<EventWithBody>(ofItsTypeAlone),
  mostBytes,
  schema,
  makeError,
});

export const securityEventToken = <Content>(
  schema: v.GenericSchema<unknown, Content>,
  mostBytes: number,
): Body<Content> => ({
  contentType: 'application/secevent+jwt',
  mostBytes,
  schema,
  makeError: invalidRequest,
});

/**
 * Leaves out parameters without a value.
 * @see RFC 6749 section 3.2
 */
const filledParameters = v.pipe(
  v.record(v.string(), v.union([v.string(), v.array(v.string())])),
  v.transform((form): unknown => {
    const filled: [name: string, value: string | string[]][] = [];
    for (const [name, sent] of Object.entries(form)) {
      const values = [sent].flat().filter((value) => value !== '');
      const [first, ...others] = values;
      if (first !== undefined) filled.push([name, others.length === 0 ? first : values]);
    }
    return Object.fromEntries(filled);
  }),
);

export const form = <Content>(
  schema: v.GenericSchema<unknown, Content>,
  makeError = invalidRequest,
  { mostBytes = usualFormBytes }: Limit = {},
): Body<Content> => ({
  contentType: formType,
  parser: httpUrlencodeBodyParser<EventWithBody>(ofItsTypeAlone),
  mostBytes,
  schema: v.pipe(filledParameters, schema, jsonSchema(schema)),
  makeError,
});

/**
 * Refuses a body that is too large, and a form that is not UTF-8, before anybody has to
 * authenticate: a form itself may say who calls. The body of a request that should have none is
 * dropped.
 * @throws ServiceError of the endpoint
 */
export const limitBody = (expected: Body<unknown> | undefined): MiddlewareObj<ApiEvent> => ({
  before: ({ event }) => {
    if (!expected) {
      delete event.headers['content-type'];
      delete event.body;
      return;
    }
    // Middy's parsers accept no white space before the parameters of a content type.
    if (event.headers['content-type']) event.headers['content-type'] = mediaType(event.headers);
    const body = bodyFor(expected, event);
    const problem = sizeProblem(event, body.mostBytes) ?? formProblem(event);
    if (problem !== undefined) throw body.makeError([{ field: '', message: problem }]);
  },
});

function sizeProblem(event: ApiEvent, mostBytes: number): string | undefined {
  const { body = '', isBase64Encoded } = event;
  const bytes = Buffer.byteLength(body, isBase64Encoded ? 'base64' : 'utf8');
  if (bytes > mostBytes)
    return `The body is too large: at most ${mostBytes / 1024} KiB are allowed.`;

  if (mediaType(event.headers) !== formType) return undefined;
  // One more than are allowed is enough to know.
  const parameters = textOf(event).split('&', mostParameters + 1);
  return parameters.length > mostParameters
    ? `The body has more than ${mostParameters} parameters.`
    : undefined;
}

function formProblem(event: ApiEvent): string | undefined {
  if (mediaType(event.headers) !== formType) return undefined;
  if (!isInUtf8(event)) return notUtf8;
  return undecodableParameter(textOf(event), 'parameter');
}

const notUtf8 = 'The body is not UTF-8.';

/**
 * The parsers of forms that an endpoint takes. A form may say who calls, so it is read before
 * anybody authenticates.
 */
export const formParsers = (expected: Body<unknown> | undefined): Parser[] =>
  parsersOf(expected, (type) => type === formType);

/** The parsers of the other bodies that an endpoint takes. */
export const otherParsers = (expected: Body<unknown> | undefined): Parser[] =>
  parsersOf(expected, (type) => type !== formType);

function parsersOf(
  expected: Body<unknown> | undefined,
  isFor: (type: string) => boolean,
): Parser[] {
  const bodies = expected ? [expected, ...(expected.others ?? [])] : [];
  return bodies
    .filter(({ contentType }) => isFor(contentType))
    .flatMap(({ parser }) => parser ?? []);
}

/** The form that middy's parser has read; an empty one if the body is something else. */
export const formOf = (event: ApiEvent): Form => {
  const { body }: { body?: unknown } = event;
  return mediaType(event.headers) === formType && isForm(body) ? body : {};
};
const isForm = (body: unknown): body is Form => typeof body === 'object' && body !== null;

type BodyOfEvent = Pick<ApiEvent, 'isBase64Encoded'> & { body?: string | undefined };
const textOf = ({ body = '', isBase64Encoded }: BodyOfEvent): string =>
  isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;

const jsonType = /^application\/([a-z0-9.+-]+\+)?json$/;

/**
 * Checks a body for the parser after this one, and says what that parser finds wrong.
 * @throws ServiceError of the endpoint for another content type, and for what must not be parsed
 */
export const checkBody = (expected: Body<unknown> | undefined): MiddlewareObj<ApiEvent> => ({
  before: ({ event }) => {
    if (!expected) return;
    const body = bodyFor(expected, event);
    if (body.isOptional && !event.body) {
      event.headers['content-type'] = body.contentType;
      event.body = '{}';
    }
    const problem = typeProblem(expected, event) ?? jsonProblem(event);
    if (problem !== undefined) throw body.makeError([{ field: '', message: problem }]);
  },
  onError: (request) => {
    const { error, event } = request;
    if (!expected || !isOfParser(error)) return;
    const message = parserProblem(error, event);
    request.error = bodyFor(expected, event).makeError([{ field: '', message }]);
  },
});

function typeProblem(expected: Body<unknown>, event: ApiEvent): string | undefined {
  const bodies = [expected, ...(expected.others ?? [])];
  const accepted = bodies.map(({ contentType }) => contentType);
  const sent = mediaType(event.headers);
  if (accepted.some((type) => type === sent)) return undefined;
  // Another type in JSON's syntax, such as `application/scim+json`, is read as JSON.
  if (accepted.includes('application/json') && jsonType.test(sent)) return undefined;
  return `The content type must be ${accepted.join(' or ')}.`;
}

function jsonProblem(event: ApiEvent): string | undefined {
  if (!jsonType.test(mediaType(event.headers))) return undefined;
  if (!isInUtf8(event)) return notUtf8;
  return countValues(textOf(event)) > mostValues
    ? `The body has more than ${mostValues} values.`
    : undefined;
}

/**
 * Whether a body was UTF-8. API Gateway puts U+FFFD, three bytes long, in the place of other bytes.
 * @see RFC 8259 section 8.1 for JSON, and the URL Standard section 5.1 for forms
 */
function isInUtf8({ body = '', headers, isBase64Encoded }: ApiEvent): boolean {
  if (isBase64Encoded) return isUtf8(Buffer.from(body, 'base64'));
  return !body.includes('\ufffd') || Buffer.byteLength(body) === Number(headers['content-length']);
}

/**
 * Counts the values that a text can have as JSON. Each but the first follows `[`, `{` or a comma
 * outside of strings, so this is the most that there can be.
 */
function countValues(json: string): number {
  let count = 1;
  let isInString = false;
  for (let at = 0; at < json.length; at += 1) {
    const character = json[at];
    if (character === '"') {
      isInString = !isInString;
    } else if (isInString) {
      // A character that is escaped ends no string.
      if (character === '\\') at += 1;
    } else if (character === '[' || character === '{' || character === ',') {
      count += 1;
    }
  }
  return count;
}

const isOfParser = (error: Error | null | undefined): error is Error =>
  error instanceof Error && 'statusCode' in error;

/** The message for what middy's parser of JSON throws, whose own message quotes the body. */
function parserProblem({ message }: Error, { body }: ApiEvent): string {
  if (message === 'Forbidden key in JSON body')
    return 'The body has the key __proto__, or constructor with prototype.';
  return body ? 'The body is not valid JSON.' : 'The body is missing.';
}

/**
 * Reads the parsed body as its schema says.
 * @throws ServiceError of the endpoint
 */
export const validateBody = <Content>(
  expected: Body<Content> | undefined,
): MiddlewareObj<ApiEvent & { body: Content }> => ({
  before: ({ event }) => {
    if (!expected) return;
    const body = bodyFor(expected, event);
    const input = body.parser ? event.body : textOf(event);
    const content = validated(body.schema, input, body.makeError);
    const leftOut = leftOutFields(input, content);
    if (leftOut.length > 0) annotateLog({ left_out: leftOut.join(', ') });
    Object.assign(event, { body: content });
  },
});
