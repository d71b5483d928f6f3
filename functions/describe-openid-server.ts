import { anybody } from '../lib/auth/anybody.ts';
import { ok } from '../lib/http/answers.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { openIdConfiguration, openIdConfigurationSchema } from '../lib/tokens/server-metadata.ts';

export const endpoint = defineEndpoint({
  method: 'GET',
  path: '/.well-known/openid-configuration',
  summary: 'The same metadata, for verifiers that use OpenID Connect Discovery',
  description:
    'The metadata of the OAuth endpoints, with what OpenID Connect Discovery adds. The service is no OpenID provider: it issues no id tokens and has no authorization endpoint. API Gateway and many libraries find the issuer and its keys here.',
  tag: 'Metadata',
  authenticate: anybody,
  responses: {
    200: {
      description: 'The metadata.',
      body: openIdConfigurationSchema,
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
        subject_types_supported: ['pairwise'],
        id_token_signing_alg_values_supported: ['RS256', 'ES256'],
      },
    },
  },
  errors: {},
  table: {},
  secrets: [],
  example: {},
  handle: async () => ok(openIdConfiguration()),
});

export const handler = serve(endpoint);
