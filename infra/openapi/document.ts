import type * as v from 'valibot';
import type { SchemeName } from '../../lib/auth/credentials.ts';
import type { AnyEndpoint } from '../../lib/http/endpoint.ts';
import { challenges, statuses } from '../../lib/http/errors.ts';
import type { ErrorRecord } from '../../lib/refusal.ts';
import { type Components, jsonSchemaOf } from './json-schema.ts';

type Json = Record<string, unknown>;

/** Which security schemes an operation takes; a Login User Token may come in either of two headers. */
const security: Record<SchemeName, Json[]> = {
  login_app_client: [{ login_app_client: [] }],
  login_app_token: [{ login_app_token: [] }],
  login_user_token: [{ login_user_token: [] }, { login_user_token_in_authentication: [] }],
  account: [{ account: [] }],
  none: [],
};

const securitySchemes = {
  login_app_client: {
    type: 'http',
    scheme: 'basic',
    description: 'The client id and client secret of a Login App (RFC 6749, section 2.3.1).',
  },
  login_app_token: {
    type: 'http',
    scheme: 'bearer',
    description:
      'A token that stands for the Login App itself: from the grant `client_credentials`, or a long-lived one from the operator.',
  },
  login_user_token: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'The access token of a person who has logged in.',
  },
  login_user_token_in_authentication: {
    type: 'apiKey',
    in: 'header',
    name: 'Authentication',
    description:
      'The same token in another header: `Authentication: Bearer …`. If both are sent, they must be equal.',
  },
  account: {
    type: 'http',
    scheme: 'basic',
    description: 'The id and secret of a back-office account.',
  },
};

const tags = [
  {
    name: 'Tokens',
    description: 'Trade what an identity provider issued for tokens; refresh, revoke and inspect them.',
  },
  { name: 'Devices', description: 'Register devices for push notifications and relate them to people.' },
  {
    name: 'Access requests',
    description: 'Create access requests; add and search their comments and reviews.',
  },
  { name: 'Metadata', description: 'What clients and servers can discover.' },
];

/** Headers that every response of the service has. */
const commonHeaders = {
  'x-request-id': { $ref: '#/components/headers/RequestId' },
  'Cache-Control': { $ref: '#/components/headers/CacheControl' },
};

/** The OpenAPI 3.1 document of the whole API, generated from the endpoints' records. */
export function apiDocument(endpoints: ReadonlyMap<string, AnyEndpoint>, version: string): Json {
  const schemas: Components = new Map();
  const paths: Record<string, Json> = {};
  for (const [key, endpoint] of [...endpoints].sort(([, a], [, b]) => (a.path < b.path ? -1 : 1))) {
    paths[endpoint.path] = {
      ...paths[endpoint.path],
      [endpoint.method.toLowerCase()]: operation(key, endpoint, schemas),
    };
  }
  return {
    openapi: '3.1.1',
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    info: {
      title: 'Login service',
      version,
      description:
        'Trades credentials of external identity providers for access and refresh tokens, registers devices for push notifications, and keeps the comments and reviews of access requests.\n\nAPI Gateway answers some requests itself, with `{"message": "…"}` as the body and without the headers of the service: 404 for an unknown path or method, 413, 429 and 431 as each operation lists them, and 500 or 503 when it cannot reach the service.',
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: '/', description: 'The address that this document was read from' }],
    tags,
    paths,
    components: {
      schemas: Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes,
      headers: {
        RequestId: {
          description: 'Identifies the request in the log of the service. Quote it when you ask for help.',
          required: true,
          schema: { type: 'string', minLength: 1 },
        },
        CacheControl: {
          description: '`no-store`, or for public metadata how long it may be cached.',
          required: true,
          schema: { type: 'string' },
        },
        Challenge: {
          description: 'The authentication scheme that would work (RFC 9110, section 11.6.1).',
          required: true,
          schema: { type: 'string', enum: Object.values(challenges) },
        },
      },
      responses: {
        ContentTooLarge: byGateway('The body is larger than 10 MB.', 'Request Entity Too Large'),
        HeadersTooLarge: byGateway(
          'The request line and the headers together are larger than 10,240 bytes.',
          'Request Header Fields Too Large',
        ),
        TooManyRequests: byGateway(
          'Too many requests. The gateway answers before the service is asked: wait, then send it again.',
          'Too Many Requests',
        ),
      },
    },
  };
}

/** A response of API Gateway itself: without the headers of the service, and with a body of its own. */
const byGateway = (description: string, message: string): Json => ({
  description,
  content: {
    'application/json': {
      schema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
      example: { message },
    },
  },
});

function operation(key: string, endpoint: AnyEndpoint, schemas: Components): Json {
  const { summary, description, tag, authenticate, body, example } = endpoint;
  const parameters = parametersOf(endpoint, schemas);
  return {
    operationId: key,
    tags: [tag],
    summary,
    description,
    security: security[authenticate.scheme],
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: {
        required: true,
        content: {
          [body.contentType]: { schema: jsonSchemaOf(body.schema, schemas), example: example.body },
        },
      },
    }),
    responses: {
      ...successes(endpoint, schemas),
      ...errorsOf(endpoint),
      ...(body && { 413: { $ref: '#/components/responses/ContentTooLarge' } }),
      429: { $ref: '#/components/responses/TooManyRequests' },
      431: { $ref: '#/components/responses/HeadersTooLarge' },
    },
  };
}

function parametersOf({ parameters = {}, example }: AnyEndpoint, schemas: Components): Json[] {
  const of = (place: 'path' | 'query' | 'header', entries: v.ObjectEntries = {}) =>
    Object.entries(entries).map(([name, schema]) => {
      const { description, ...plain } = jsonSchemaOf(schema, schemas);
      const shown = example[place === 'header' ? 'headers' : place]?.[name];
      return {
        name: place === 'header' ? (headerNames[name] ?? name) : name,
        in: place,
        required: place === 'path',
        ...(description !== undefined && { description }),
        ...(plain.type === 'array' && { style: 'form', explode: false }),
        schema: plain,
        ...(shown !== undefined && { example: plain.type === 'integer' ? Number(shown) : shown }),
      };
    });
  return [
    ...of('path', parameters.path),
    ...of('query', parameters.query),
    ...of('header', parameters.headers),
  ];
}

/** As the standards write them; records name headers in lower case, as events do. */
const headerNames: Record<string, string> = { 'idempotency-key': 'Idempotency-Key' };

function successes({ responses }: AnyEndpoint, schemas: Components): Record<string, Json> {
  return Object.fromEntries(
    Object.entries(responses).map(([status, { description, body, example, links }]) => [
      status,
      {
        description,
        headers: commonHeaders,
        ...(body && { content: { 'application/json': { schema: jsonSchemaOf(body, schemas), example } } }),
        ...(links && { links }),
      },
    ]),
  );
}

/** The error responses of an endpoint, one for each status, with the codes that it can hold. */
function errorsOf({ errors, authenticate }: AnyEndpoint): Record<string, Json> {
  const all: Record<string, ErrorRecord> = {
    ...errors,
    ...(authenticate.error && { [authenticate.error.code]: authenticate.error }),
    internal_server_error: unknownErrorRecord,
  };
  const byStatus = Map.groupBy(Object.entries(all), ([code]) => statusOf(code));
  return Object.fromEntries(
    [...byStatus].sort(([a], [b]) => a - b).map(([status, codes]) => [status, errorResponse(status, codes)]),
  );
}

const statusOf = (code: string): number => new Map<string, number>(Object.entries(statuses)).get(code) ?? 500;

const unknownErrorRecord: ErrorRecord = {
  when: 'Something failed in the service or at the identity provider. Try again later.',
  example: 'Something failed on our side. Please quote the request id UbR0vhfEjoEEMaA=.',
};

function errorResponse(status: number, codes: [string, ErrorRecord][]): Json {
  const isValidation = status === 422;
  const challenge = codes.some(([code]) => code in challenges);
  return {
    description: codes.map(([code, { when }]) => `\`${code}\`: ${when}`).join('\n\n'),
    headers: {
      ...commonHeaders,
      ...(challenge && { 'WWW-Authenticate': { $ref: '#/components/headers/Challenge' } }),
    },
    content: {
      'application/json': {
        schema: {
          type: 'object',
          properties: {
            error: { type: 'string', enum: codes.map(([code]) => code) },
            error_description: {
              type: 'string',
              description: 'What is wrong and what is allowed, for developers.',
            },
            ...(isValidation && {
              errors: {
                type: 'array',
                minItems: 1,
                description: 'Each field that is wrong.',
                items: {
                  type: 'object',
                  properties: { field: { type: 'string' }, message: { type: 'string' } },
                  required: ['field', 'message'],
                },
              },
            }),
          },
          required: ['error', 'error_description', ...(isValidation ? ['errors'] : [])],
        },
        examples: Object.fromEntries(
          codes.map(([error, { example: error_description, errors }]) => [
            error,
            { value: { error, error_description, ...(errors && { errors }) } },
          ]),
        ),
      },
    },
  };
}
