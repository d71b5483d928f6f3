import { anybody } from '../lib/auth/anybody.ts';
import { ok } from '../lib/http/answers.ts';
import { defineEndpoint } from '../lib/http/endpoint.ts';
import { serve } from '../lib/http/serve.ts';
import { jwkSet } from '../lib/tokens/key-set.ts';
import { keysPath } from '../lib/tokens/paths.ts';
import { publicKeys } from '../lib/tokens/public-keys.ts';

export const endpoint = defineEndpoint({
  method: 'GET',
  path: keysPath,
  summary: 'The public keys that access tokens are verified with (RFC 7517)',
  authenticate: anybody,
  responses: { 200: { description: 'The JSON Web Key Set.', body: jwkSet, cacheSeconds: 300 } },
  errors: {},
  tableActions: ['GetItem'],
  secrets: [],
  example: {},
  handle: async () => ok({ keys: await publicKeys() }),
});

export const handler = serve(endpoint);
