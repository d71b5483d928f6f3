import { anybody } from '../lib/http/auth/credentials.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { jwkSetSchema } from '../lib/signing/key-set.ts';
import { publicKeys } from '../lib/signing/published-keys.ts';
import { keysPath } from '../lib/tokens/issuer.ts';

export const { endpoint, handler } = serve({
  route: `GET ${keysPath}`,
  isBusy: true,
  authenticate: anybody,
  table: { signing_keys: ['GetItem'] },
  cacheSeconds: 300,
  handle: async () => {
    const keys = await publicKeys();
    // An empty set is that of a service which is being deployed: no cache may hold it against the
    // first tokens.
    return { ...ok({ keys }), mayBeCached: keys.length > 0 };
  },
  document: !process.env.BUNDLED && {
    summary: 'The public keys that access tokens are verified with (RFC 7517)',
    description:
      'The keys that sign access tokens now, will sign next, or have signed tokens that are still valid. Cache them for at most the `max-age` of the response, and fetch them again when a token names a key that is not among them.',
    tag: 'Metadata',
    responses: {
      200: {
        description: 'The JSON Web Key Set.',
        body: jwkSetSchema,
        example: {
          keys: [
            {
              kid: 'k_3kXo9yQmTqW5cRr0bV2wZg',
              use: 'sig',
              alg: 'RS256',
              kty: 'RSA',
              n: '0vx7agoebGcQSuuNPiLXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw',
              e: 'AQAB',
            },
          ],
        },
      },
    },
  },
});
