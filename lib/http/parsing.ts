import httpJsonBodyParser from '@middy/http-json-body-parser';
import httpUrlencodeBodyParser from '@middy/http-urlencode-body-parser';
import type { ApiEvent, Step } from './endpoint.ts';
import { UnparsableBody } from './unparsable-body.ts';

const takeBody: Step = {
  before: ({ event }) => {
    event.input = event.body;
  },
};

/** The most bytes of a body that are parsed: the longest comment, written in escapes, and some more. */
const mostBodyBytes = 256 * 1024;
/** The most parameters of a form; the parser itself would pass over those after the thousandth. */
const mostParameters = 100;

/** Refuses a body that costs more to parse than any right one. */
const limitBody: Step = {
  before: ({ event }) => {
    if ((event.body?.length ?? 0) > mostBodyBytes) throw new UnparsableBody('The body is too large.');
  },
};

const limitForm: Step = {
  before: ({ event: { body, isBase64Encoded } }) => {
    const form = isBase64Encoded ? Buffer.from(body ?? '', 'base64').toString() : (body ?? '');
    if (form.split('&', mostParameters + 1).length > mostParameters) {
      throw new UnparsableBody(`The body has more than ${mostParameters} parameters.`);
    }
  },
};

/** The input is the body, which must be `application/json`. */
export const parseJson: Step[] = [limitBody, httpJsonBodyParser<ApiEvent>(), takeBody];

/** The input is the body, a form: each name with its value, or with its values when it is repeated. */
export const parseForm: Step[] = [limitBody, limitForm, httpUrlencodeBodyParser<ApiEvent>(), takeBody];

const takeRequest: Step = {
  before: ({ event }) => {
    const { body, headers, pathParameters } = event;
    event.input = { ...pathParameters, idempotency_key: headers['idempotency-key'], body };
  },
};

/** The input is the path's parameters, the `Idempotency-Key` and `body`, which must be `application/json`. */
export const parseJsonRequest: Step[] = [limitBody, httpJsonBodyParser<ApiEvent>(), takeRequest];

/** The input is the path's parameters and the `Idempotency-Key`; a body means nothing. */
export const parseBareRequest: Step = takeRequest;

/** The input is the query, each name with all its values in their order, and the path's parameters. */
export const parsePathAndQuery: Step = {
  before: ({ event }) => {
    const query = new URLSearchParams(event.rawQueryString);
    const values = [...new Set(query.keys())].map((name) => [name, query.getAll(name)]);
    event.input = { ...Object.fromEntries(values), ...event.pathParameters };
  },
};
