// A request in, an answer out: the middy chain of every endpoint, the authentication of callers, bodies, parameters and
// the rendering of errors. It decides nothing about the domain. It calls the rooms that know the callers.

import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2 as ApiEvent, Context } from 'aws-lambda';
import { requireEnvironmentInLambda } from '../foundation/environment.ts';
import { annotateLog, withRequest } from '../log/request-fields.ts';
import { type Reply, renderAnswer } from './answers.ts';
import { annotateIdsOf, writeAuditLine } from './audit-line.ts';
import type { Authentication, RequestHeaders } from './auth/credentials.ts';
import { guardParser, noParser, validateBody } from './body.ts';
import type { Endpoint, ParameterSchemas, Responses } from './endpoint.ts';
import { renderErrors } from './errors.ts';
import { requireOriginSecret } from './origin-secret.ts';
import { readParameters } from './parameters.ts';

/**
 * The Lambda handler of an endpoint. A request passes the middlewares from the first to the last: each checks it, or adds
 * to the event what it has read of it. The answer, or an error, passes them from the last to the first.
 */
export function serve<Caller, Schemas extends ParameterSchemas, Content, R extends Responses>(
  endpoint: Endpoint<Caller, Schemas, Content, R>,
) {
  requireEnvironmentInLambda();
  const chain = middy<ApiEvent, Reply>()
    .use(writeAuditLine(endpoint))
    .use(renderErrors(endpoint))
    .use(renderAnswer(endpoint))
    .use(requireOriginSecret)
    .use(authenticate(endpoint.authenticate))
    .use(readParameters(endpoint.parameters))
    .use(guardParser(endpoint.body))
    .use(endpoint.body?.parser ?? noParser)
    .use(validateBody(endpoint.body))
    .use(annotateIdsOf(endpoint))
    .handler(endpoint.handle);

  // For middy, what the middlewares add belongs to the event from the start.
  return (event: Parameters<typeof chain>[0], context: Context) => {
    const { requestId, routeKey } = event.requestContext;
    return withRequest({ request_id: requestId, route: routeKey }, () => chain(event, context));
  };
}

/** Finds out who calls, before the rest of the request is looked at. @throws ServiceError of the scheme */
const authenticate = <Caller>({
  scheme,
  identify,
}: Authentication<Caller>): MiddlewareObj<{ headers: RequestHeaders; caller: Caller }> => ({
  before: async ({ event }) => {
    event.caller = await identify(event.headers);
    annotateLog({ caller: scheme });
  },
});
