import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';

/** The committed event of an endpoint. */
export const eventOf = (key: string): APIGatewayProxyEventV2 =>
  JSON.parse(readFileSync(join(import.meta.dirname, '..', 'events', `${key}.json`), 'utf8'));

/** The committed event of a function that no endpoint leads to. */
export const eventWithoutRoute = (key: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(import.meta.dirname, 'events', `${key}.json`), 'utf8'));

/** What stands for a placeholder of the event files, such as `CLIENT_ID`. */
export type Credentials = Record<string, string>;

/** The event with the placeholders of its headers, its body and its path replaced. */
export function filledIn(event: APIGatewayProxyEventV2, credentials: Credentials): APIGatewayProxyEventV2 {
  const { access_request_id } = credentials;
  const text = (value: string): string => replaceAll(value, credentials);
  const path = (value: string): string =>
    access_request_id ? value.replace(/(?<=\/access_requests\/)\d+/, access_request_id) : value;
  const { headers, body, isBase64Encoded, pathParameters } = event;
  return {
    ...event,
    rawPath: path(event.rawPath),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, filledInHeader(value ?? '', text)]),
    ),
    ...(pathParameters?.access_request_id && access_request_id && { pathParameters: { access_request_id } }),
    ...(body !== undefined && { body: isBase64Encoded ? inBase64(body, text) : text(body) }),
  };
}

const replaceAll = (text: string, credentials: Credentials): string =>
  Object.entries(credentials).reduce((filled, [name, value]) => filled.replaceAll(name, value), text);

const inBase64 = (encoded: string, change: (text: string) => string): string =>
  Buffer.from(change(Buffer.from(encoded, 'base64').toString())).toString('base64');

function filledInHeader(value: string, text: (value: string) => string): string {
  const basic = value.match(/^Basic (.+)$/)?.[1];
  return basic ? `Basic ${inBase64(basic, text)}` : text(value);
}

/** What the connection or API Gateway adds to a request. */
const notSent = /^(host|content-length|x-forwarded-.*|x-amzn-.*)$/;

/** The HTTP request that API Gateway would make the event from. */
export function requestOf(event: APIGatewayProxyEventV2): { path: string; init: RequestInit } {
  const { rawPath, rawQueryString, headers, body, isBase64Encoded, requestContext } = event;
  return {
    path: `${rawPath}${rawQueryString && `?${rawQueryString}`}`,
    init: {
      method: requestContext.http.method,
      headers: Object.fromEntries(
        Object.entries(headers).flatMap(([name, value = '']) => (notSent.test(name) ? [] : [[name, value]])),
      ),
      ...(body !== undefined && { body: Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8') }),
    },
  };
}
