import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: OutgoingHttpHeaders = {},
): void {
  sendJsonText(response, status, JSON.stringify(value), headers);
}

export function sendJsonText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers }).end(text);
}

export function sendNotFound(response: ServerResponse, description: string): void {
  sendJson(response, 404, { error: 'not_found', error_description: description });
}

/** @see RFC 6750, section 3.1 */
export function sendInvalidToken(response: ServerResponse): void {
  const error = { error: 'invalid_token', error_description: 'unknown or expired access token' };
  sendJson(response, 401, error, { 'www-authenticate': 'Bearer error="invalid_token"' });
}

/** @see RFC 6750, section 2.1 */
export function bearerToken(request: IncomingMessage): string {
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
}

/** The query of a request, decoded. */
export function queryOf(request: IncomingMessage): URLSearchParams {
  return new URLSearchParams((request.url ?? '').split('?').slice(1).join('?'));
}
