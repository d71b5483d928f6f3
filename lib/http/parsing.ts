import httpJsonBodyParser from '@middy/http-json-body-parser';
import httpUrlencodeBodyParser from '@middy/http-urlencode-body-parser';
import type { ApiEvent, Step } from './endpoint.ts';

const takeBody: Step = {
  before: ({ event }) => {
    event.input = event.body;
  },
};

/** The input is the body, which must be `application/json`. */
export const parseJson: Step[] = [httpJsonBodyParser<ApiEvent>(), takeBody];

/** The input is the body, a form: each name with its value, or with its values when it is repeated. */
export const parseForm: Step[] = [httpUrlencodeBodyParser<ApiEvent>(), takeBody];

const takeRequest: Step = {
  before: ({ event }) => {
    const { body, headers, pathParameters } = event;
    event.input = { ...pathParameters, idempotency_key: headers['idempotency-key'], body };
  },
};

/** The input is the path's parameters, the `Idempotency-Key` and `body`, which must be `application/json`. */
export const parseJsonRequest: Step[] = [httpJsonBodyParser<ApiEvent>(), takeRequest];

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
