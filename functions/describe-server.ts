import { anybody } from '../lib/auth/anybody.ts';
import { ok } from '../lib/http/answers.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { serverMetadata, serverMetadataSchema } from '../lib/tokens/server-metadata.ts';

export const endpoint = defineEndpoint({
  method: 'GET',
  path: '/.well-known/oauth-authorization-server',
  summary: 'Metadata of the OAuth endpoints (RFC 8414)',
  authenticate: anybody,
  responses: {
    200: { description: 'The metadata.', body: serverMetadataSchema, cacheSeconds: 3600 },
  },
  errors: {},
  tableActions: [],
  secrets: [],
  example: {},
  handle: async () => ok(serverMetadata()),
});

export const handler = serve(endpoint);
