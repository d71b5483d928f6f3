import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';

/** A handler's answer: an HTTP status and what becomes the JSON body; none when it is undefined. */
export interface Answer {
  status: number;
  body: unknown;
  /** Headers of this answer, before the ones that all have. */
  headers?: Record<string, string>;
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const noContent = (): Answer => ({ status: 204, body: undefined });
export const created = (body: unknown): Answer => ({ status: 201, body });

/** What anybody may know, for caches to keep. */
export const okCacheable = (body: unknown, seconds: number): Answer => ({
  status: 200,
  body,
  headers: { 'cache-control': `public, max-age=${seconds}` },
});

/** JSON that no cache keeps (RFC 6749 section 5.1), with the request's id. */
export const jsonResponse = (
  { status, body, headers }: Answer,
  requestId: string,
): APIGatewayProxyStructuredResultV2 => ({
  statusCode: status,
  headers: {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    'cache-control': 'no-store',
    'x-request-id': requestId,
    ...headers,
  },
  ...(body !== undefined && { body: JSON.stringify(body) }),
});
