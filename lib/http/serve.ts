import middy, { type MiddlewareObj, type Request } from '@middy/core';
import type {
  APIGatewayProxyEventV2 as ApiEvent,
  APIGatewayProxyStructuredResultV2 as ApiResponse,
  Context,
} from 'aws-lambda';
import * as v from 'valibot';
import { requireEnvironmentInLambda } from '../foundation/environment.ts';
import { invalid } from '../foundation/service-error.ts';
import { logAudit } from '../log/log.ts';
import {
  annotateIds,
  annotateLog,
  auditFields,
  invocationFields,
  unauthenticated,
  withRequest,
} from '../log/request-fields.ts';
import { invalidRequest, validated } from '../schema/validation.ts';
import { jsonResponse, renderErrors } from './answers.ts';
import { checkBody, formOf, formParsers, limitBody, otherParsers, validateBody } from './body.ts';
import {
  type AnyAnswer,
  type Authentication,
  type Endpoint,
  isAudited,
  type Outputs,
  type ParameterSchemas,
  type RequestHeaders,
  type Responses,
  type RunningEndpoint,
} from './endpoint.ts';
import { requireOriginSecret } from './origin-secret.ts';
import { undecodableParameter } from './percent-encoding.ts';

export const ok = <Body>(body: Body, headers?: Record<string, string>) => ({
  status: 200 as const,
  body,
  headers,
});
export const accepted = () => ({ status: 202 as const, body: undefined });
export const created = <Body>(body: Body) => ({ status: 201 as const, body });

export async function noContent(work?: Promise<unknown>) {
  await work;
  return { status: 204 as const, body: undefined };
}

/**
 * An endpoint with its Lambda handler. Responses and errors pass the middlewares from the last to
 * the first.
 */
export function serve<
  Caller,
  R extends Responses,
  Schemas extends ParameterSchemas = Record<never, never>,
  Content = undefined,
>(endpoint: Endpoint<Caller, Schemas, Content, R>) {
  requireEnvironmentInLambda();
  const chain = middy<ApiEvent, ApiResponse>()
    .use(writeAuditLine(endpoint))
    .use(renderErrors(endpoint))
    .use(requireOriginSecret)
    .use(limitBody(endpoint.body))
    .use(formParsers(endpoint.body))
    .use(authenticate(endpoint.authenticate))
    .use(readParameters(endpoint.parameters))
    .use(checkBody(endpoint.body))
    .use(otherParsers(endpoint.body))
    .use(validateBody(endpoint.body))
    .handler(async (request) => {
      if (endpoint.body) annotateIds(request.body);
      return renderAnswer(
        endpoint,
        await endpoint.handle(request),
        request.requestContext.requestId,
      );
    });

  // Middy's type of the event has what the middlewares add.
  const handler = (event: Parameters<typeof chain>[0], context: Context) => {
    const { requestId, routeKey } = event.requestContext;
    const fields = { request_id: requestId, route: routeKey, ...invocationFields(context) };
    return withRequest(fields, () => chain(event, context));
  };
  return { endpoint, handler };
}

/** @throws ServiceError of the scheme */
const authenticate = <Caller>(
  by: Authentication<Caller>,
): MiddlewareObj<ApiEvent & { headers: RequestHeaders; caller: Caller }> => ({
  before: async ({ event }) => {
    event.caller = await by.identify(event.headers, () => formOf(event));
    annotateLog({ caller: by.scheme });
  },
});

/**
 * Writes the audit line of a request that may write, whatever its outcome. A request that was
 * refused before its caller was known changed nothing, and anybody can send millions: those stand
 * in the log alone.
 */
function writeAuditLine(endpoint: RunningEndpoint): MiddlewareObj<ApiEvent, ApiResponse> {
  const write = ({ response }: Request<ApiEvent, ApiResponse>) => {
    if (!isAudited(endpoint)) return;
    const status = response?.statusCode ?? 500;
    const result = status < 400 ? 'done' : status < 500 ? 'rejected' : 'failed';
    const fields = auditFields();
    if (fields.caller === unauthenticated && result === 'rejected') return;
    logAudit({ ...fields, result, status });
  };
  return { before: ({ event }) => annotateIds(event.pathParameters), after: write, onError: write };
}

/** Renders the answer of a handler, and notes its ids for the audit line. */
function renderAnswer(
  { cacheSeconds, idIs }: RunningEndpoint,
  answer: AnyAnswer,
  requestId: string,
): ApiResponse {
  const { status, body, headers = {}, mayBeCached = true } = answer;
  const fields: object = Object(body);
  annotateIds(idIs && 'id' in fields ? { ...fields, [idIs]: fields.id } : fields);
  const cachedFor = mayBeCached ? cacheSeconds : undefined;
  return jsonResponse({ status, body, headers, cacheSeconds: cachedFor }, requestId);
}

/**
 * Reads parameters into the event.
 * @throws ServiceError `invalid_request` for one that is malformed or, in the query, unknown
 */
function readParameters<Schemas extends ParameterSchemas>(
  schemas: Schemas | undefined,
): MiddlewareObj<ApiEvent & { [Place in keyof ParameterSchemas]-?: Outputs<Schemas[Place]> }> {
  const path = objectOf<NonNullable<Schemas['path']>>(schemas?.path);
  const query = objectOf<NonNullable<Schemas['query']>>(schemas?.query);
  const headers = objectOf<NonNullable<Schemas['headers']>>(schemas?.headers);
  return {
    before: ({ event }) => {
      if (path) event.path = validated(path, event.pathParameters ?? {}, invalidRequest);
      if (query)
        event.query = validated(query, valuesIn(event, Object.keys(query.entries)), invalidRequest);
      if (headers)
        event.headers = { ...event.headers, ...validated(headers, event.headers, invalidRequest) };
    },
  };
}

const objectOf = <Entries extends v.ObjectEntries>(entries: Entries | undefined) =>
  entries && v.object(entries);

/**
 * Each query parameter with its values, from the raw query: API Gateway joins repeated ones with
 * commas.
 */
function valuesIn({ rawQueryString }: ApiEvent, known: string[]): Record<string, string[]> {
  const undecodable = undecodableParameter(rawQueryString, 'query parameter');
  if (undecodable !== undefined) throw invalid(undecodable);
  const sent = new URLSearchParams(rawQueryString);
  const names = [...new Set(sent.keys())];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const named = /^[\w.[\]-]{1,64}$/.test(unknown) ? ` ${unknown}` : '';
    throw invalid(`Unknown query parameter${named}. Allowed: ${known.join(', ')}.`);
  }
  return Object.fromEntries(names.map((name) => [name, sent.getAll(name)]));
}
