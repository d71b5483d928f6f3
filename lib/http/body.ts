import { isUtf8 } from 'node:buffer';
import type { MiddlewareObj } from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import httpUrlencodeBodyParser from '@middy/http-urlencode-body-parser';
import type { APIGatewayProxyEventV2 as ApiEvent } from 'aws-lambda';
import * as v from 'valibot';
import type { ServiceError } from '../foundation/service-error.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import { invalidRequest, type MakeError, validated } from '../schema/validation.ts';

type EventWithBody = ApiEvent & { body: string };

export interface Body<Content> {
  contentType: 'application/json' | 'application/x-www-form-urlencoded' | 'application/secevent+jwt';
  parser: MiddlewareObj<EventWithBody>;
  /** The error in a body that must not be parsed. */
  problem?: (event: ApiEvent) => string | undefined;
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

/** The body for the content type of a request, or else the first. */
export function bodyFor<Content>(body: Body<Content>, { headers }: Pick<ApiEvent, 'headers'>): Body<Content> {
  const [type = ''] = headers['content-type']?.split(';') ?? [];
  return body.others?.find(({ contentType }) => contentType === type.trim().toLowerCase()) ?? body;
}

/** More than the longest comment with every character escaped. */
const mostBodyBytes = 256 * 1024;
/** The most parameters of a form. The parser would silently ignore those after the thousandth. */
const mostParameters = 100;

export const json = <Content>(
  schema: v.GenericSchema<unknown, Content>,
  makeError: MakeError,
): Body<Content> => ({
  contentType: 'application/json',
  parser: httpJsonBodyParser<EventWithBody>(),
  problem: (event) => (isInUtf8(event) ? undefined : 'The body is not UTF-8.'),
  schema,
  makeError,
});

/** Whether JSON was UTF-8 (RFC 8259 section 8.1). API Gateway puts U+FFFD, three bytes long, in the place of other bytes. */
function isInUtf8({ body = '', headers, isBase64Encoded }: ApiEvent): boolean {
  if (isBase64Encoded) return isUtf8(Buffer.from(body, 'base64'));
  return !body.includes('\ufffd') || Buffer.byteLength(body) === Number(headers['content-length']);
}

export const securityEventToken = <Content>(schema: v.GenericSchema<unknown, Content>): Body<Content> => ({
  contentType: 'application/secevent+jwt',
  parser: {
    before: ({ event }) => {
      event.body = textOf(event);
    },
  },
  schema,
  makeError: invalidRequest,
});

/** Leaves out parameters without a value. @see RFC 6749 section 3.2 */
const filledParameters = v.pipe(
  v.record(v.string(), v.union([v.string(), v.array(v.string())])),
  v.transform((form): unknown =>
    Object.fromEntries(
      Object.entries(form)
        .map(([name, sent]): [string, string[]] => [name, [sent].flat().filter((value) => value !== '')])
        .filter(([, values]) => values.length > 0)
        .map(([name, values]) => [name, values.length === 1 ? values[0] : values]),
    ),
  ),
);

/** A form: each name with its value, or its values if it is repeated. */
export const form = <Content>(
  schema: v.GenericSchema<unknown, Content>,
  makeError = invalidRequest,
): Body<Content> => ({
  contentType: 'application/x-www-form-urlencoded',
  parser: httpUrlencodeBodyParser<EventWithBody>(),
  problem: (event) => {
    const isTooLong = textOf(event).split('&', mostParameters + 1).length > mostParameters;
    return isTooLong ? `The body has more than ${mostParameters} parameters.` : undefined;
  },
  schema: v.pipe(filledParameters, schema, jsonSchema(schema)),
  makeError,
});

const textOf = ({ body = '', isBase64Encoded }: ApiEvent): string =>
  isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;

const isTooLarge = ({ body = '' }: ApiEvent): boolean => body.length > mostBodyBytes;

/** The parameters of a body, read as a form; none if it is too large. */
export const rawFormOf = (event: ApiEvent) => new URLSearchParams(isTooLarge(event) ? '' : textOf(event));

/** Reads the body as its schema says. @throws ServiceError of the endpoint */
export const readBody = <Content>(
  expected: Body<Content> | undefined,
): MiddlewareObj<EventWithBody & { body: Content }> => ({
  before: async (request) => {
    if (!expected) return;
    const { event } = request;
    const body = bodyFor(expected, event);
    if (body.isOptional && !event.body)
      Object.assign(event, { headers: { ...event.headers, 'content-type': body.contentType }, body: '{}' });
    const message = isTooLarge(event) ? 'The body is too large.' : body.problem?.(event);
    if (message !== undefined) throw body.makeError([{ field: '', message }]);
    // The parsers don't accept white space before the parameters (RFC 9110 section 5.6.6).
    const [type, ...parameters] = event.headers['content-type']?.split(';') ?? [];
    if (type) event.headers['content-type'] = [type.trimEnd(), ...parameters].join(';');
    try {
      await body.parser.before?.(request);
    } catch (error) {
      throw body.makeError([{ field: '', message: faultOf(error, body, event) }]);
    }
    Object.assign(event, { body: validated(body.schema, event.body, body.makeError) });
  },
});

/** The message for what a parser throws, whose own message quotes the body. */
function faultOf(error: unknown, { contentType, others = [] }: Body<unknown>, { body }: ApiEvent): string {
  if (error instanceof Error && 'statusCode' in error && error.statusCode === 415)
    return `The content type must be ${[contentType, ...others.map((one) => one.contentType)].join(' or ')}.`;
  if (error instanceof Error && error.message === 'Forbidden key in JSON body')
    return 'The body has the key __proto__, or constructor with prototype.';
  return body ? 'The body is not valid JSON.' : 'The body is missing.';
}
