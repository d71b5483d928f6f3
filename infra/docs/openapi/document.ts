import * as v from 'valibot';
import type { AnyEndpoint, ExampleRequest, Link, SchemeName } from '../../../lib/http/endpoint.ts';
import * as clients from '../../../lib/login-apps/client-metadata.ts';
import { byPath, partsOf } from '../../endpoints.ts';
import { commonHeaders, errorsOf, headerComponents, headersWithProofNonce } from './errors.ts';
import { type Components, jsonSchemaOf, mapValues, withNamedAlternatives } from './json-schema.ts';

type Json = Record<string, unknown>;

/**
 * Security schemes that an operation takes; a Login User Token may come in either of two headers.
 */
const security: Record<SchemeName, Json[]> = {
  login_app_client: [{ login_app_client: [] }],
  login_app_token: [{ login_app_token: [] }],
  login_user_token: [{ login_user_token: [] }, { login_user_token_in_authentication: [] }],
  account: [{ account: [] }],
  none: [],
};

const bearer = (description: string, bearerFormat?: string): Json => ({
  type: 'http',
  scheme: 'bearer',
  bearerFormat,
  description,
});

const securitySchemes = {
  login_app_client: {
    type: 'http',
    scheme: 'basic',
    description: `The client id and client secret of a Login App (RFC 6749, section 2.3.1). At the token, revocation and introspection endpoint, a client without a secret sends parameters of the form instead (RFC 7523, section 2.2): \`client_assertion_type=${clients.jwtAssertionType}\`, \`client_assertion\`, a JWT, and \`client_id\`. Algorithms: ${clients.assertionAlgorithms.join(', ')}.`,
  },
  recipients_token: bearer(
    'A token from the grant `client_credentials` with `scope=recipients`.',
    'JWT',
  ),
  dpop_proof: {
    type: 'apiKey',
    in: 'header',
    name: 'DPoP',
    description: `A public client, such as the app of a phone, sends \`client_id\` in the form and no \`Authorization\`, and proves a key of its own (RFC 9449). Algorithm: ${clients.proofAlgorithms.join()}.`,
  },
  login_app_token: bearer(
    'A token that stands for the Login App itself: from the grant `client_credentials`, or a long-lived one from the operator.',
  ),
  login_user_token: bearer('The access token of a person who has logged in.', 'JWT'),
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

/** The groups of endpoints, in the order in which a client comes to need them. */
export const tags = [
  {
    name: 'Tokens',
    description:
      'Trade what an identity provider issued for tokens; refresh, revoke and inspect them.',
  },
  {
    name: 'People',
    description: 'What people manage of their own account: identities and sessions.',
  },
  {
    name: 'Devices',
    description: 'Register devices for push notifications and link them to people.',
  },
  {
    name: 'Access requests',
    description: 'Create access requests; add and search their comments and reviews.',
  },
  { name: 'Metadata', description: 'What clients and servers can discover.' },
];

/** The API in Markdown, with the answers of API Gateway, which any operation can get. */
const description = `\
Trades credentials of external identity providers for access and refresh tokens, registers devices for push notifications, and keeps the comments and reviews of access requests.

API Gateway answers some requests itself, with \`{"message": "…"}\` as the body and without the headers of the service:

- 404: no endpoint has this path and method.
- 413: the body is larger than 10 MB.
- 429: there are too many requests. Wait, then send it again.
- 431: the request line and the headers together are larger than 10,240 bytes.
- 500 or 503: the gateway cannot reach the service.`;

/**
 * The OpenAPI 3.1 document of the whole API, from the endpoints' records. JSON leaves out its
 * undefined fields.
 */
export function apiDocument(endpoints: ReadonlyMap<string, AnyEndpoint>, version: string): Json {
  const sent: Components = new Map();
  const received: Components = new Map();
  const paths: Record<string, Json> = {};
  for (const [key, endpoint] of [...endpoints].sort(([, a], [, b]) => byPath(a, b))) {
    const { method, path } = partsOf(endpoint);
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: operation(key, endpoint, sent, received),
    };
  }
  const components: [name: string, schema: object][] = [
    ...withNamedAlternatives(sent, { decoded: false }),
    ...withNamedAlternatives(received, { decoded: true }),
  ];
  return {
    openapi: '3.1.1',
    info: {
      title: 'Login service',
      version,
      description,
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: [{ url: '/', description: 'The address that this document was read from' }],
    tags,
    paths,
    components: {
      schemas: Object.fromEntries(components.sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes,
      headers: headerComponents,
    },
  };
}

function operation(
  key: string,
  endpoint: AnyEndpoint,
  sent: Components,
  received: Components,
): Json {
  const { authenticate, body, document } = endpoint;
  const { summary, description, tag, example = {} } = document;
  const { scheme, alternative } = authenticate;
  const instead = alternative === 'client_id' ? {} : { [String(alternative)]: [] };
  const parameters = parametersOf(endpoint, sent);
  const others = (body?.others ?? []).map((other) => [
    other.contentType,
    { schema: jsonSchemaOf(other.schema, sent), example: other.example },
  ]);
  return {
    operationId: key,
    tags: [tag],
    summary,
    description,
    security: alternative === undefined ? security[scheme] : [...security[scheme], instead],
    parameters: parameters.length > 0 ? parameters : undefined,
    requestBody: body && {
      description: `At most ${body.mostBytes / 1024} KiB.`,
      required: !body.isOptional,
      content: {
        [body.contentType]: { schema: jsonSchemaOf(body.schema, sent), ...examplesOf(example) },
        ...Object.fromEntries(others),
      },
    },
    responses: {
      ...successes(endpoint, received),
      ...errorsOf(endpoint, received),
    },
  };
}

const examplesOf = ({ body, bodies }: ExampleRequest): Json =>
  bodies === undefined
    ? { example: body }
    : { examples: mapValues(bodies, (value) => ({ value })) };

const parametersOf = (
  { parameters = {}, document: { example = {} } }: AnyEndpoint,
  schemas: Components,
): Json[] =>
  (['path', 'query', 'headers'] as const).flatMap((place) =>
    Object.entries(parameters[place] ?? {}).map(([name, schema]) => {
      const { description, ...plain } = jsonSchemaOf(schema, schemas);
      const shown = example[place]?.[name];
      return {
        name: headerNames[name] ?? name,
        in: place === 'headers' ? 'header' : place,
        // A parameter is required where its absence is an error.
        required: place === 'path' || !v.is(schema, undefined),
        description,
        ...(plain.type === 'array' && { style: 'form', explode: false }),
        schema: plain,
        example: shown !== undefined && plain.type === 'integer' ? Number(shown) : shown,
      };
    }),
  );

/** Names of headers as the standards write them; records have them in lower case, as events do. */
const headerNames: Record<string, string> = {
  'idempotency-key': 'Idempotency-Key',
  dpop: 'DPoP',
};

/**
 * The values of a body stand in an extension: OpenAPI Generator rejects a link whose `requestBody`
 * is an object.
 */
const linkOf = ({ requestBody, ...link }: Link): Json => ({
  ...link,
  'x-request-body': requestBody,
});

const successes = ({ document, authenticate }: AnyEndpoint, schemas: Components): Json =>
  mapValues(document.responses, ({ description, body, example, links }) => ({
    description,
    headers: authenticate.alternative === 'dpop_proof' ? headersWithProofNonce : commonHeaders,
    content: body && { 'application/json': { schema: jsonSchemaOf(body, schemas), example } },
    links: links && mapValues(links, linkOf),
  }));
