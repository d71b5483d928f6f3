import type { MiddlewareObj, Request } from '@middy/core';
import httpJsonBodyParser from '@middy/http-json-body-parser';
import httpUrlencodeBodyParser from '@middy/http-urlencode-body-parser';
import type { APIGatewayProxyEventV2 as ApiEvent, Context } from 'aws-lambda';
import type * as v from 'valibot';
import { type MakeError, validated } from '../schema/validation.ts';

/** How an endpoint reads its body. */
export interface Body<Content> {
  contentType: 'application/json' | 'application/x-www-form-urlencoded';
  schema: v.GenericSchema<unknown, Content>;
  /** @throws ServiceError when the body cannot be read, or is not what the schema says */
  read: (event: ApiEvent, context: Context) => Content;
}

/** As the parsers type an event. */
type EventWithBody = ApiEvent & { body: string };

/** A kind of body, and the messages for one that cannot be read. */
interface Format {
  contentType: Body<unknown>['contentType'];
  parser: MiddlewareObj<EventWithBody>;
  malformed: (event: ApiEvent, error: unknown) => string;
  /** What is wrong with a body that must not be parsed. */
  problem?: (event: ApiEvent) => string | undefined;
}

/** The most bytes of a body that are parsed. The longest comment, with every character escaped, is shorter. */
const mostBodyBytes = 256 * 1024;
/** The most parameters of a form. The parser itself would silently ignore those after the thousandth. */
const mostParameters = 100;

const jsonFormat: Format = {
  contentType: 'application/json',
  parser: httpJsonBodyParser<EventWithBody>(),
  // The parser also rejects keys that could change an object's prototype.
  malformed: ({ body }, error) => {
    if (!body) return 'The body is missing.';
    return error instanceof Error && error.message === 'Forbidden key in JSON body'
      ? 'The body has the key __proto__, or constructor with prototype.'
      : 'The body is not valid JSON.';
  },
};

const formFormat: Format = {
  contentType: 'application/x-www-form-urlencoded',
  parser: httpUrlencodeBodyParser<EventWithBody>(),
  malformed: () => 'The body is not a form.',
  problem: ({ body = '', isBase64Encoded }) => {
    const text = isBase64Encoded ? Buffer.from(body, 'base64').toString() : body;
    const isTooLong = text.split('&', mostParameters + 1).length > mostParameters;
    return isTooLong ? `The body has more than ${mostParameters} parameters.` : undefined;
  },
};

/** @param makeError makes the error for a body that cannot be read, or is not what the schema says */
export const json = <Schema extends v.GenericSchema>(schema: Schema, makeError: MakeError) =>
  bodyOf(jsonFormat, schema, makeError);

/**
 * A form: each name with its value, or with its values when it is repeated.
 * @param makeError makes the error for a body that cannot be read, or is not what the schema says
 */
export const form = <Schema extends v.GenericSchema>(schema: Schema, makeError: MakeError) =>
  bodyOf(formFormat, schema, makeError);

const bodyOf = <Schema extends v.GenericSchema>(
  { contentType, parser, malformed, problem }: Format,
  schema: Schema,
  makeError: MakeError,
): Body<v.InferOutput<Schema>> => ({
  contentType,
  schema,
  read: (event, context) => {
    const unreadable = (message: string) => makeError([{ field: '', message }]);
    if ((event.body ?? '').length > mostBodyBytes) throw unreadable('The body is too large.');
    const message = problem?.(event);
    if (message !== undefined) throw unreadable(message);
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
      // The parsers' own errors quote the body, so they are not passed on.
      throw unreadable(
        isOfOtherType(error) ? `The content type must be ${contentType}.` : malformed(event, error),
      );
    }
    return validated(schema, request.event.body, makeError);
  },
});

const isOfOtherType = (error: unknown): boolean =>
  error instanceof Error && 'statusCode' in error && error.statusCode === 415;
