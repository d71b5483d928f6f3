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
  description:
    'The keys that sign access tokens now, will sign next, or have signed tokens that are still valid. Cache them for at most the `max-age` of the response, and fetch them again when a token names a key that is not among them.',
  tag: 'Metadata',
  authenticate: anybody,
  responses: {
    200: {
      description: 'The JSON Web Key Set.',
      body: jwkSet,
      cacheSeconds: 300,
      example: {
        keys: [
          {
            kty: 'EC',
            crv: 'P-256',
            x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
            y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
            kid: 'k_3kXo9yQmTqW5cRr0bV2wZg',
            alg: 'ES256',
            use: 'sig',
          },
        ],
      },
    },
  },
  errors: {},
  tableActions: ['GetItem'],
  secrets: [],
  example: {},
  handle: async () => ok({ keys: await publicKeys() }),
});

export const handler = serve(endpoint);
