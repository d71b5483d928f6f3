import middy from '@middy/core';
import type {
  APIGatewayProxyStructuredResultV2,
  APIGatewayProxyEventV2 as ApiEvent,
  Context,
} from 'aws-lambda';
import { requireEnvironmentInLambda } from '../environment.ts';
import { auditCaller, auditIds, withAuditLine } from '../log/audit.ts';
import { withLogFields } from '../log/request-fields.ts';
import { jsonResponse } from './answers.ts';
import { type AnyEndpoint, isAudited } from './endpoint.ts';
import { renderErrors } from './errors.ts';
import { requireOriginSecret } from './origin-secret.ts';
import { parameterReader } from './parameters.ts';

/** An endpoint, with a handler for the request that its own schemas make. */
type Served = AnyEndpoint & {
  /** A method, so that the compiler takes handlers of any request; `defineEndpoint` has checked this one. */
  handle(request: object): Promise<{ status: number; body?: unknown; mayBeCached?: boolean }>;
};

/** The Lambda handler of an endpoint. A request passes these steps in order; each hands its result to the next. */
export function serve(endpoint: Served) {
  requireEnvironmentInLambda();
  const readParameters = parameterReader(endpoint);
  const chain = middy<ApiEvent, APIGatewayProxyStructuredResultV2>()
    .use(renderErrors(endpoint))
    .handler(async (event, context) => {
      requireOriginSecret(event.headers, event.requestContext.apiId);
      auditIds(event.pathParameters);
      const caller = await endpoint.authenticate.identify(event.headers);
      auditCaller(endpoint.authenticate.scheme);
      const parameters = readParameters(event);
      const body = endpoint.body?.read(event, context);
      auditIds(body);
      const { mayBeCached = true, ...answer } = await endpoint.handle({ caller, ...parameters, body });
      auditIds(idsOf(endpoint, answer.body));
      const { cacheSeconds } = mayBeCached ? (endpoint.responses[answer.status] ?? {}) : {};
      return jsonResponse({ ...answer, cacheSeconds }, event.requestContext.requestId);
    });

  return (event: ApiEvent, context: Context): Promise<APIGatewayProxyStructuredResultV2> => {
    const { requestId, routeKey } = event.requestContext;
    const respond = () => chain(event, context);
    return withLogFields({ request_id: requestId, route: routeKey }, () =>
      isAudited(endpoint) ? withAuditLine(respond) : respond(),
    );
  };
}

/** The fields of a response, with its `id` under its full name. */
const idsOf = ({ idIs }: Served, body: unknown): object => {
  const fields: object = Object(body);
  return idIs && 'id' in fields ? { ...fields, [idIs]: fields.id } : fields;
};
