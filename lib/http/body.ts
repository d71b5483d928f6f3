import type { Request } from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import httpUrlencodeBodyParser from '@middy/http-urlencode-body-parser';
import type { APIGatewayProxyEventV2 as ApiEvent, Context } from 'aws-lambda';
import type * as v from 'valibot';
import { type Refuse, validated } from '../validation.ts';

/** How an endpoint reads its body. */
export interface Body<Content> {
  contentType: 'application/json' | 'application/x-www-form-urlencoded';
  schema: v.GenericSchema<unknown, Content>;
  /** @throws Refusal when the body cannot be read, or is not what the schema says */
  read: (event: ApiEvent, context: Context) => Content;
}

/** The most bytes of a body that are parsed: the longest comment, written in escapes, and some more. */
const mostBodyBytes = 256 * 1024;
/** The most parameters of a form; the parser itself would ignore those after the thousandth. */
const mostParameters = 100;

/** @param refuse makes the error for a body that cannot be read, or is not what the schema says */
export const json = <Schema extends v.GenericSchema>(
  schema: Schema,
  refuse: Refuse,
): Body<v.InferOutput<Schema>> => ({
  contentType: 'application/json',
  schema,
  read: (event, context) => {
    limitSize(event, refuse);
    const content = parsed(event, context, {
      parser: parseJson,
      otherType: () => unreadable(refuse, 'The content type must be application/json.'),
      malformed: (error) => unreadable(refuse, jsonProblem(event.body, error)),
    });
    return validated(schema, content, refuse);
  },
});

/**
 * A form: each name with its value, or with its values when it is repeated.
 * @param refuse makes the error for a body that cannot be read, or is not what the schema says
 */
export const form = <Schema extends v.GenericSchema>(
  schema: Schema,
  refuse: Refuse,
): Body<v.InferOutput<Schema>> => ({
  contentType: 'application/x-www-form-urlencoded',
  schema,
  read: (event, context) => {
    limitSize(event, refuse);
    const text = event.isBase64Encoded ? Buffer.from(event.body ?? '', 'base64').toString() : event.body;
    if ((text ?? '').split('&', mostParameters + 1).length > mostParameters) {
      throw unreadable(refuse, `The body has more than ${mostParameters} parameters.`);
    }
    const content = parsed(event, context, {
      parser: parseForm,
      otherType: () => unreadable(refuse, 'The content type must be application/x-www-form-urlencoded.'),
      malformed: () => unreadable(refuse, 'The body is not a form.'),
    });
    return validated(schema, content, refuse);
  },
});

/** As the parsers type an event. */
type EventWithBody = ApiEvent & { body: string };

const parseJson = httpJsonBodyParser<EventWithBody>();
const parseForm = httpUrlencodeBodyParser<EventWithBody>();

interface Parsing {
  parser: typeof parseJson | typeof parseForm;
  /** The error for another content type. */
  otherType: () => Error;
  /** The error for a body that the parser rejects. */
  malformed: (error: unknown) => Error;
}

/** What middy's parser makes of the body. Its own errors quote the body, so they never leave this function. */
function parsed(event: ApiEvent, context: Context, { parser, otherType, malformed }: Parsing): unknown {
  const request: Request<EventWithBody> = {
    event: { ...event, body: event.body ?? '' },
    context,
    response: undefined,
    error: undefined,
    internal: {},
  };
  try {
    parser.before?.(request);
  } catch (error) {
    throw error instanceof Error && 'statusCode' in error && error.statusCode === 415
      ? otherType()
      : malformed(error);
  }
  return request.event.body;
}

/** What is wrong with a body that the JSON parser rejects; it also rejects keys that could change an object's prototype. */
function jsonProblem(body: string | undefined, error: unknown): string {
  if (!body) return 'The body is missing.';
  return error instanceof Error && error.message === 'Forbidden key in JSON body'
    ? 'The body has the key __proto__, or constructor with prototype.'
    : 'The body is not valid JSON.';
}

function limitSize({ body = '' }: ApiEvent, refuse: Refuse): void {
  if (body.length > mostBodyBytes) throw unreadable(refuse, 'The body is too large.');
}

const unreadable = (refuse: Refuse, message: string) => refuse([{ field: '', message }]);
