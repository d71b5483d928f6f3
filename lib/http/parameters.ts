import type { MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2 as ApiEvent } from 'aws-lambda';
import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import { invalidRequest, validated } from '../schema/validation.ts';
import type { Outputs, ParameterSchemas } from './endpoint.ts';

/**
 * Reads the parameters of an endpoint's requests that its schemas describe: `event.path`, `event.query`, and its headers in
 * their place among the others.
 * @throws ServiceError `invalid_request`, which names the first one that is malformed or, in the query, unknown
 */
export function readParameters<Schemas extends ParameterSchemas>(
  schemas: Schemas | undefined,
): MiddlewareObj<ApiEvent & { [Place in keyof ParameterSchemas]-?: Outputs<Schemas[Place]> }> {
  const path = objectOf<NonNullable<Schemas['path']>>(schemas?.path);
  const query = objectOf<NonNullable<Schemas['query']>>(schemas?.query);
  const headers = objectOf<NonNullable<Schemas['headers']>>(schemas?.headers);
  return {
    before: ({ event }) => {
      if (path) event.path = validated(path, event.pathParameters ?? {}, invalidRequest);
      if (query) {
        event.query = validated(query, valuesIn(event, Object.keys(query.entries)), invalidRequest);
      }
      if (headers) {
        event.headers = { ...event.headers, ...validated(headers, event.headers, invalidRequest) };
      }
    },
  };
}

const objectOf = <Entries extends v.ObjectEntries>(entries: Entries | undefined) =>
  entries && v.object(entries);

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
