import { anybody } from '../lib/auth/anybody.ts';
import { ok } from '../lib/http/answers.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { serverMetadata, serverMetadataSchema } from '../lib/tokens/server-metadata.ts';

export const endpoint = defineEndpoint({
  method: 'GET',
  path: '/.well-known/oauth-authorization-server',
  summary: 'Metadata of the OAuth endpoints (RFC 8414)',
  description:
    'Where the OAuth endpoints are and what they support, as RFC 8414 defines it. Clients can discover everything from here.',
  tag: 'Metadata',
  authenticate: anybody,
  responses: {
    200: {
      description: 'The metadata.',
      body: serverMetadataSchema,
      cacheSeconds: 3600,
      example: {
        issuer: 'https://login.example.com',
        token_endpoint: 'https://login.example.com/v2/marketing/oauth/token',
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
        revocation_endpoint: 'https://login.example.com/v2/marketing/oauth/revoke',
        revocation_endpoint_auth_methods_supported: ['client_secret_basic'],
        introspection_endpoint: 'https://login.example.com/v2/marketing/oauth/introspect',
        introspection_endpoint_auth_methods_supported: ['client_secret_basic'],
        jwks_uri: 'https://login.example.com/v2/marketing/oauth/jwks',
        grant_types_supported: [
          'provider_credentials',
          'provider_authorization_code',
          'refresh_token',
          'client_credentials',
        ],
        response_types_supported: [],
      },
    },
  },
  errors: {},
  table: {},
  secrets: [],
  example: {},
  handle: async () => ok(serverMetadata()),
});

export const handler = serve(endpoint);
