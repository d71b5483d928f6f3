import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';

/** A handler's answer: an HTTP status and what becomes the JSON body; none when it is undefined. */
export interface Answer {
  status: number;
  body: unknown;
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const noContent = (): Answer => ({ status: 204, body: undefined });
export const created = (body: unknown): Answer => ({ status: 201, body });

/** JSON that no cache keeps (RFC 6749 section 5.1), with the request's id. */
export const jsonResponse = (
  { status, body }: Answer,
  requestId: string,
  headers: Record<string, string> = {},
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
