import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';

export const ok = <Body>(body: Body) => ({ status: 200 as const, body });
export const created = <Body>(body: Body) => ({ status: 201 as const, body });
export const noContent = () => ({ status: 204 as const, body: undefined });

/** A response before it is written. */
interface Response {
  status: number;
  /** Becomes JSON; undefined leaves the body empty. */
  body?: unknown;
  /** In addition to those that all responses have. */
  headers?: Record<string, string>;
  /** Seconds for which it may be cached. @default not at all (RFC 6749 section 5.1) */
  cacheSeconds?: number | undefined;
}

/** A response with the headers that all have. */
export const jsonResponse = (
  { status, body, headers, cacheSeconds }: Response,
  requestId: string,
): APIGatewayProxyStructuredResultV2 => ({
  statusCode: status,
  headers: {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    'cache-control': cacheSeconds === undefined ? 'no-store' : `public, max-age=${cacheSeconds}`,
    'x-request-id': requestId,
    ...headers,
  },
  ...(body !== undefined && { body: JSON.stringify(body) }),
});
