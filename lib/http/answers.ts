import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyStructuredResultV2, APIGatewayProxyEventV2 as ApiEvent } from 'aws-lambda';
import type { AnyAnswer, AnyEndpoint } from './endpoint.ts';

export const ok = <Body>(body: Body) => ({ status: 200 as const, body });
export const created = <Body>(body: Body) => ({ status: 201 as const, body });
export const noContent = () => ({ status: 204 as const, body: undefined });

interface Response {
  status: number;
  /** Becomes JSON; undefined leaves the body empty. */
  body?: unknown;
  /** Headers in addition to those that all responses have. */
  headers?: Record<string, string>;
  /** Seconds for which it may be cached. @default not at all (RFC 6749 section 5.1) */
  cacheSeconds?: number | undefined;
}

/** Headers that keep browsers from guessing a type, and from leaving TLS for two years. @see RFC 6797 section 6.1 */
const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'strict-transport-security': 'max-age=63072000',
};

export const jsonResponse = (
  { status, body, headers, cacheSeconds }: Response,
  requestId: string,
): APIGatewayProxyStructuredResultV2 => ({
  statusCode: status,
  headers: {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(cacheSeconds === undefined
      ? { 'cache-control': 'no-store', pragma: 'no-cache' }
      : { 'cache-control': `public, max-age=${cacheSeconds}` }),
    'x-request-id': requestId,
    ...securityHeaders,
    ...headers,
  },
  ...(body !== undefined && { body: JSON.stringify(body) }),
});

/** The value that the chain of an endpoint passes on: the answer of its handler, which then becomes a response. */
export type Reply = AnyAnswer | APIGatewayProxyStructuredResultV2;

/** Turns the answer of a handler into a response. */
export const renderAnswer = ({
  responses,
}: Pick<AnyEndpoint, 'responses'>): MiddlewareObj<ApiEvent, Reply> => ({
  after: (request) => {
    const { response } = request;
    if (!response || !('status' in response)) return;
    const { mayBeCached = true, ...answer } = response;
    const { cacheSeconds } = mayBeCached ? (responses[answer.status] ?? {}) : {};
    request.response = jsonResponse({ ...answer, cacheSeconds }, request.event.requestContext.requestId);
  },
});
