import * as v from 'valibot';
import document from '../docs/openapi.json' with { type: 'json' };
import { anybody } from '../lib/auth/anybody.ts';
import { ok } from '../lib/http/answers.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { issuer } from '../lib/tokens/issuer.ts';

export const endpoint = defineEndpoint({
  method: 'GET',
  path: '/openapi.json',
  summary: 'This API as an OpenAPI 3.1 document',
  description: 'Generated from the records that serve the requests. Tools can read it from here at any time.',
  tag: 'Metadata',
  authenticate: anybody,
  responses: {
    200: {
      description: 'The document.',
      body: v.objectWithRest({ openapi: v.string() }, v.unknown()),
      example: { openapi: '3.1.1' },
      cacheSeconds: 3600,
    },
  },
  errors: {},
  table: {},
  secrets: [],
  example: {},
  handle: async () => ok({ ...document, servers: [{ url: issuer() }] }),
});

export const handler = serve(endpoint);
