import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';

/** The committed event of an endpoint. */
export const eventOf = (key: string): APIGatewayProxyEventV2 =>
  JSON.parse(readFileSync(join(import.meta.dirname, '..', 'events', `${key}.json`), 'utf8'));

/**
 * The event with the placeholders of its path, its headers and its body replaced.
 * @param values of them, such as `CLIENT_ID`
 */
export function filledIn(
  event: APIGatewayProxyEventV2,
  values: Record<string, string>,
): APIGatewayProxyEventV2 {
  const text = (value: string): string =>
    Object.entries(values).reduce((filled, [name, real]) => filled.replaceAll(name, real), value);
  const {
    rawPath,
    rawQueryString,
    queryStringParameters,
    pathParameters,
    headers,
    body,
    isBase64Encoded,
  } = event;
  return {
    ...event,
    rawPath: text(rawPath),
    rawQueryString: text(rawQueryString),
    ...(queryStringParameters && { queryStringParameters: mapValues(queryStringParameters, text) }),
    headers: mapValues(headers, (value) => filledInHeader(value, text)),
    ...(pathParameters && {
      // A parameter is replaced together with the segment before it: `access_requests/1`.
      pathParameters: mapValues(pathParameters, (value) =>
        segmentAfter(value, rawPath, text(rawPath)),
      ),
    }),
    ...(body !== undefined && { body: isBase64Encoded ? inBase64(body, text) : text(body) }),
  };
}

/** What stands in a path in the place where another one has a segment. */
function segmentAfter(segment: string, path: string, changedPath: string): string {
  const place = path.split('/').indexOf(segment);
  return changedPath.split('/')[place] ?? segment;
}

const mapValues = (values: Record<string, string | undefined>, change: (value: string) => string) =>
  Object.fromEntries(Object.entries(values).map(([name, value = '']) => [name, change(value)]));

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
        Object.entries(headers).flatMap(([name, value = '']) =>
          notSent.test(name) ? [] : [[name, value]],
        ),
      ),
      ...(body !== undefined && { body: Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8') }),
    },
  };
}
