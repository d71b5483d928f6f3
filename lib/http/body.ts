import { isUtf8 } from 'node:buffer';
import type { MiddlewareObj } from '@middy/core';
import { jsonParseProtectProto } from '@middy/util';
import type { APIGatewayProxyEventV2 as ApiEvent } from 'aws-lambda';
import type * as v from 'valibot';
import type { ServiceError } from '../foundation/service-error.ts';
import { invalidRequest, type MakeError, validated } from '../schema/validation.ts';

type SentBody = Pick<ApiEvent, 'headers' | 'isBase64Encoded'> & { body?: string | undefined };

export interface Body<Content> {
  contentType: 'application/json' | 'application/x-www-form-urlencoded' | 'application/secevent+jwt';
  /** What the schema reads. @param fault makes the error for a body that must not or cannot be parsed */
  parse: (event: SentBody, fault: (message: string) => ServiceError) => unknown;
  schema: v.GenericSchema<unknown, Content>;
  /** Whether a request without a body is one with an empty object. */
  isOptional?: true;
  /** The error for a body that cannot be read, or is not what the schema says. */
  makeError: MakeError;
  /** Bodies of other content types that the endpoint takes besides. */
  others?: Body<Content>[];
  /** A body as it is sent, of one among `others`. */
  example?: unknown;
  /** The form of a 400 to a request with such a body, where its protocol has one of its own. */
  badRequest?: {
    schema: v.GenericSchema;
    render: (error: ServiceError) => { body: object; headers: Record<string, string> };
  };
}

/** The media type of a request's body, without its parameters. @see RFC 9110 section 8.3.1 */
function typeOf({ headers }: Pick<ApiEvent, 'headers'>): string {
  const [type = ''] = headers['content-type']?.split(';') ?? [];
  return type.trim().toLowerCase();
}

/** The body of a request: the one of its content type, or else the first. */
export const bodyFor = <Content>(body: Body<Content>, event: Pick<ApiEvent, 'headers'>): Body<Content> =>
  body.others?.find(({ contentType }) => contentType === typeOf(event)) ?? body;

/** The most bytes of a body that are parsed. The longest comment, with every character escaped, is shorter. */
const mostBodyBytes = 256 * 1024;
const mostParameters = 100;

export const json = <Content>(
  schema: v.GenericSchema<unknown, Content>,
  makeError: MakeError,
): Body<Content> => ({
  contentType: 'application/json',
  parse: (event, fault) => {
    if (!isInUtf8(event)) throw fault('The body is not UTF-8.');
    if (!event.body) throw fault('The body is missing.');
    try {
      return jsonParseProtectProto(textOf(event));
    } catch (error) {
      if (error instanceof SyntaxError) throw fault('The body is not valid JSON.');
      throw fault('The body has the key __proto__, or constructor with prototype.');
    }
  },
  schema,
  makeError,
});

/**
 * API Gateway passes JSON on as text, in which U+FFFD stands for bytes that are no UTF-8. The text then has another length
 * than the body had, unless each U+FFFD stands for three bytes, or was sent.
 * @see RFC 8259 section 8.1
 */
function isInUtf8({ body = '', headers, isBase64Encoded }: SentBody): boolean {
  if (isBase64Encoded) return isUtf8(Buffer.from(body, 'base64'));
  return !body.includes('\ufffd') || Buffer.byteLength(body) === Number(headers['content-length']);
}

export const text = <Content>(
  contentType: Body<Content>['contentType'],
  schema: v.GenericSchema<unknown, Content>,
): Body<Content> => ({ contentType, parse: textOf, schema, makeError: invalidRequest });

/** A form: each name with its value, or with its values when it is repeated. */
export const form = <Content>(
  schema: v.GenericSchema<unknown, Content>,
  makeError = invalidRequest,
): Body<Content> => ({
  contentType: 'application/x-www-form-urlencoded',
  parse: (event, fault) => {
    if (parametersIn(event).length > mostParameters)
      throw fault(`The body has more than ${mostParameters} parameters.`);
    return formOf(event);
  },
  schema,
  makeError,
});

const textOf = ({ body = '', isBase64Encoded }: SentBody): string =>
  isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;

const isTooLarge = ({ body = '' }: SentBody): boolean => body.length > mostBodyBytes;

/** The parameters of a form, as they were sent; of too many, enough to tell. */
const parametersIn = (event: SentBody): string[] => textOf(event).split('&', mostParameters + 1);

/** The parameters of a form that have a value. */
export type Form = Record<string, string | string[]>;

/**
 * The parameters that a body has as a form, whatever it is; none if it is too large.
 * @see RFC 6749 section 3.2: those without a value count as omitted
 */
export function formOf(event: SentBody): Form {
  const sent = [...new URLSearchParams(isTooLarge(event) ? '' : parametersIn(event).join('&'))];
  const filled = Map.groupBy(
    sent.filter(([, value]) => value !== ''),
    ([name]) => name,
  );
  return Object.fromEntries(
    [...filled].map(([name, [[, value] = ['', ''], ...others]]) => [
      name,
      others.length === 0 ? value : [value, ...others.map(([, other]) => other)],
    ]),
  );
}

/** Reads the body as its schema says. @throws ServiceError of the endpoint */
export const readBody = <Content>(
  expected: Body<Content> | undefined,
): MiddlewareObj<ApiEvent & { body: Content }> => ({
  before: ({ event }) => {
    if (expected) Object.assign(event, { body: contentOf(expected, event) });
  },
});

function contentOf<Content>(expected: Body<Content>, event: SentBody): Content {
  const { contentType, parse, schema, isOptional, makeError } = bodyFor(expected, event);
  if (isOptional && !event.body) return validated(schema, {}, makeError);
  const fault = (message: string) => makeError([{ field: '', message }]);
  if (isTooLarge(event)) throw fault('The body is too large.');
  const type = typeOf(event);
  const isJson = contentType === 'application/json' && /^application\/[a-z0-9.+-]+\+json$/.test(type);
  if (type !== contentType && !isJson) {
    const types = [expected, ...(expected.others ?? [])].map((one) => one.contentType);
    throw fault(`The content type must be ${types.join(' or ')}.`);
  }
  return validated(schema, parse(event, fault), makeError);
}
