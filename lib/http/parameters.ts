import type { APIGatewayProxyEventV2 as ApiEvent } from 'aws-lambda';
import * as v from 'valibot';
import { ServiceError } from '../errors/service-error.ts';
import { invalidRequest, validated } from '../schema/validation.ts';
import type { AnyEndpoint } from './endpoint.ts';

/**
 * Reads the path, query and header parameters of an endpoint's requests, as its schemas say.
 * @returns reads those of one request. @throws ServiceError `invalid_request`, which names the first one that is malformed or,
 *   in the query, unknown
 */
export function parameterReader({ parameters = {} }: Pick<AnyEndpoint, 'parameters'>) {
  const path = v.object(parameters.path ?? {});
  const headers = v.object(parameters.headers ?? {});
  const query = parameters.query && v.object(parameters.query);
  return (event: ApiEvent) => ({
    path: validated(path, event.pathParameters ?? {}, invalidRequest),
    query: query ? validated(query, valuesIn(event, Object.keys(query.entries)), invalidRequest) : {},
    headers: validated(headers, event.headers, invalidRequest),
  });
}

/** Each parameter with its values. Read from the raw query: API Gateway joins repeated ones with commas, which a value may contain. */
function valuesIn({ rawQueryString }: ApiEvent, known: string[]): Record<string, string[]> {
  const sent = new URLSearchParams(rawQueryString);
  const names = [...new Set(sent.keys())];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const named = /^[\w.[\]-]{1,64}$/.test(unknown) ? ` ${unknown}` : '';
    throw new ServiceError(
      'invalid_request',
      `Unknown query parameter${named}. Allowed: ${known.join(', ')}.`,
    );
  }
  return Object.fromEntries(names.map((name) => [name, sent.getAll(name)]));
}
