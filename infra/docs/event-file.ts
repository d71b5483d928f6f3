import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { AnyEndpoint, ExampleRequest, SchemeName } from '../../lib/http/endpoint.ts';
import { partsOf } from '../endpoints.ts';
import { mapValues } from './openapi/json-schema.ts';

/** API Gateway encodes forms in base64, since it doesn't count their content type as text. */
const formInBase64 = (fields = {}): string =>
  btoa(String(new URLSearchParams(mapValues(fields, String))));

/** The header of each scheme, with placeholders for the credentials. */
const credentials: Record<SchemeName, Record<string, string>> = {
  login_app_client: { authorization: `Basic ${btoa('CLIENT_ID:CLIENT_SECRET')}` },
  login_app_token: { authorization: 'Bearer LOGIN_APP_TOKEN' },
  login_user_token: { authorization: 'Bearer LOGIN_USER_TOKEN' },
  account: { authorization: `Basic ${btoa('ACCOUNT_ID:ACCOUNT_SECRET')}` },
  none: {},
};

/**
 * The example request of an endpoint, as API Gateway passes it to the function: payload format 2.0.
 */
export const exampleEvent = (endpoint: AnyEndpoint): APIGatewayProxyEventV2 =>
  eventOf(endpoint, endpoint.document.example, credentials[endpoint.authenticate.scheme]);

/**
 * A request to an endpoint, as API Gateway passes it to the function.
 * @param credentials the header that says who calls
 */
export function eventOf(endpoint: AnyEndpoint, example: ExampleRequest = {}, credentials = {}) {
  const { route: routeKey, body } = endpoint;
  const [sent] = Object.values(example.bodies ?? { body: example.body });
  const { method, path } = partsOf(endpoint);
  const rawPath = path.replace(/\{(\w+)\}/g, (_, name: string) => example.path?.[name] ?? '');
  const isForm = body?.contentType === 'application/x-www-form-urlencoded';
  const host = 'a1b2c3d4e5.execute-api.eu-west-1.amazonaws.com';
  return {
    version: '2.0',
    routeKey,
    rawPath,
    rawQueryString: new URLSearchParams(example.query).toString(),
    headers: {
      accept: 'application/json',
      ...credentials,
      ...(body && { 'content-type': body.contentType }),
      host,
      ...example.headers,
    },
    ...(example.query && { queryStringParameters: example.query }),
    ...(example.path && { pathParameters: example.path }),
    requestContext: {
      accountId: '123456789012',
      apiId: 'a1b2c3d4e5',
      domainName: host,
      domainPrefix: 'a1b2c3d4e5',
      http: {
        method,
        path: rawPath,
        protocol: 'HTTP/1.1',
        sourceIp: '203.0.113.10',
        userAgent: 'curl/8.14.1',
      },
      requestId: 'UbR0vhfEjoEEMaA=',
      routeKey,
      stage: '$default',
      time: '21/Nov/2025:06:00:00 +0000',
      timeEpoch: 1763704800000,
    },
    ...(body && { body: isForm ? formInBase64(sent) : JSON.stringify(sent) }),
    isBase64Encoded: isForm,
  } satisfies APIGatewayProxyEventV2;
}

/**
 * Example requests of all endpoints for the trial of new versions, each with its expected status.
 * The trial replaces the credentials of those that only read. The others write nothing: their
 * placeholders are rejected, or, where anybody may call, name a Login App that does not exist.
 */
export const exampleRequests = (
  endpoints: ReadonlyMap<string, AnyEndpoint>,
): Record<string, object> =>
  Object.fromEntries(
    [...endpoints].map(([key, endpoint]) => {
      const { version, rawPath, requestContext, routeKey, headers, ...event } =
        exampleEvent(endpoint);
      return [key, { status: statusOf(endpoint), routeKey, headers, ...event }];
    }),
  );

function statusOf({ route, authenticate, document }: AnyEndpoint): number {
  const { responses, trialStatus } = document;
  if (trialStatus !== undefined) return trialStatus;
  if (route.startsWith('GET ')) return Math.min(...Object.keys(responses).map(Number));
  return authenticate.scheme === 'none' ? 400 : 401;
}
