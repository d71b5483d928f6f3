import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import { eventOf } from './event-file.ts';

/** The parts of an event that a request has of its own. */
const parts = [
  ...(['routeKey', 'headers', 'rawQueryString', 'queryStringParameters'] as const),
  ...(['pathParameters', 'body', 'isBase64Encoded'] as const),
];

/**
 * Example requests of all endpoints with the status that each documents for it, for the trial of new versions. The trial
 * replaces the credentials of those that only read. The others keep their placeholders, so that nothing is written: they
 * are rejected, or, when anybody may call, name a Login App that does not exist.
 */
export const exampleRequests = (endpoints: ReadonlyMap<string, AnyEndpoint>): Record<string, object> =>
  Object.fromEntries(
    [...endpoints].map(([key, endpoint]) => {
      const event = eventOf(endpoint);
      const request = Object.fromEntries(parts.map((part) => [part, event[part]]));
      return [key, { status: statusOf(endpoint), ...request }];
    }),
  );

function statusOf({ method, responses, authenticate }: AnyEndpoint): number {
  if (method === 'GET') return Math.min(...Object.keys(responses).map(Number));
  return authenticate.scheme === 'none' ? 400 : 401;
}
