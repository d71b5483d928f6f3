import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import querystring from 'node:querystring';
import * as v from 'valibot';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import type { RequestFields } from '../../lib/log/events.ts';
import { annotateLog, withRequest } from '../../lib/log/request-fields.ts';
import { MissingRight } from '../table-rights.ts';
import { ignoredNames, nearestRoute } from './hints.ts';
import { readBody } from './loopback-server.ts';

/** A route to a Lambda handler. */
export interface Route {
  endpoint: Pick<AnyEndpoint, 'route'> &
    Partial<Pick<AnyEndpoint, 'authenticate' | 'body' | 'parameters'>>;
  handler: (event: ReturnType<typeof eventOf>, context: unknown) => Promise<unknown>;
}

/** The results that the service's handlers have; API Gateway accepts more. */
const handlerResultSchema = v.object({
  statusCode: v.number(),
  headers: v.record(v.string(), v.string()),
  body: v.optional(v.string(), ''),
});

/**
 * The most bytes of a body, and of the request line and headers, that API Gateway takes. It doesn't
 * document the responses.
 */
const mostBodyBytes = 10 * 1024 * 1024;
const mostHeaderBytes = 10_240;

/**
 * Stands in for API Gateway: turns HTTP requests into events for the handlers, and their results
 * into responses.
 * @param routes may be filled later
 * @param print takes a line for each request: its error code, the reason for the log and the names
 *   of fields and headers without effect, but no value of its query, headers or body
 */
export function gateway(
  routes: readonly Route[],
  print: (line: string) => void = () => {},
): RequestListener {
  return (request, response) => {
    const startedAt = performance.now();
    const { pathname } = urlOf(request);
    const noted: Partial<RequestFields> = {};
    const ignored: string[] = [];
    response.on('finish', () => {
      const milliseconds = Math.round(performance.now() - startedAt);
      const outcome = [noted.error, noted.reason].filter((text) => text !== undefined).join(': ');
      const without = ignored.length > 0 && `(ignored: ${ignored.join(', ')})`;
      const parts = [
        request.method,
        pathname,
        response.statusCode,
        `${milliseconds} ms`,
        outcome,
        without,
      ];
      print(parts.filter(Boolean).join(' '));
    });
    withRequest(noted, () => answer(routes, request, response, ignored)).catch((error) =>
      sendMessage(
        response,
        500,
        error instanceof MissingRight ? error.message : 'Internal Server Error',
      ),
    );
  };
}

async function answer(
  routes: readonly Route[],
  request: IncomingMessage,
  response: ServerResponse,
  ignored: string[],
) {
  const { method = '', rawHeaders } = request;
  if ([method, request.url, ...rawHeaders].join('').length > mostHeaderBytes)
    return sendMessage(response, 431, 'Request Header Fields Too Large');
  const asked = `${method} ${urlOf(request).pathname}`;
  for (const { endpoint, handler } of routes) {
    const match = asked.match(patternOf(endpoint.route));
    if (!match) continue;
    const body = await readBody(request);
    if (body.length > mostBodyBytes) return sendMessage(response, 413, 'Request Entity Too Large');
    ignored.push(...ignoredNames(endpoint, request.headers, body.toString()));
    const event = eventOf(request, endpoint.route, match, body);
    const awsRequestId = event.requestContext.requestId;
    // More than on Lambda: all functions share one process.
    const getRemainingTimeInMillis = () => 60_000;
    const result = await handler(event, {
      awsRequestId,
      functionName: 'local',
      getRemainingTimeInMillis,
    });
    const { statusCode, headers, body: sent } = v.parse(handlerResultSchema, result);
    return void response.writeHead(statusCode, headers).end(sent);
  }
  const known = routes.map(({ endpoint }) => endpoint.route);
  const hint = `There is ${nearestRoute(known, asked)}.`;
  annotateLog({ reason: hint });
  // A header, since the body is API Gateway's own.
  response.setHeader('x-hint', hint);
  return sendMessage(response, 404, 'Not Found');
}

/** The fields of an event in payload format 2.0 that the service's handlers read. */
function eventOf(
  request: IncomingMessage,
  routeKey: string,
  { groups }: RegExpMatchArray,
  body: Buffer,
) {
  const headers = Object.fromEntries(
    Object.entries(request.headersDistinct).map(([name, values = []]) => [name, values.join(',')]),
  );
  const decoded = Object.entries(groups ?? {}).map(([name, value]) => [
    name,
    querystring.unescape(value),
  ]);
  const isText = isTextType(headers['content-type']);
  return {
    version: '2.0',
    rawQueryString: urlOf(request).search.slice(1),
    headers,
    pathParameters: groups && Object.fromEntries(decoded),
    body: body.length > 0 ? body.toString(isText ? 'utf8' : 'base64') : undefined,
    isBase64Encoded: body.length > 0 && !isText,
    requestContext: { apiId: 'local', requestId: randomUUID(), routeKey },
  };
}

/** The pattern of the paths of a route, with a group for each parameter. */
const patternOf = (route: string): RegExp =>
  new RegExp(`^${route.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`);

/** Whether API Gateway passes on a body of this type as text; it encodes others in base64. */
const isTextType = (contentType = 'application/json'): boolean =>
  /^(text\/.*|application\/(json|xml|javascript)|application\/.*\+(json|xml)) *(;|$)/i.test(
    contentType,
  );

const sendMessage = (response: ServerResponse, status: number, message: string): void =>
  void response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ message }));

const urlOf = (request: IncomingMessage): URL => new URL(`http://127.0.0.1${request.url ?? '/'}`);
