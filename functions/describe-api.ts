import * as v from 'valibot';
import { anybody } from '../lib/http/auth/credentials.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { issuer } from '../lib/tokens/issuer.ts';

export const { endpoint, handler } = serve({
  route: 'GET /openapi.json',
  authenticate: anybody,
  cacheSeconds: 3600,
  handle: async () => {
    // Not before it is asked for: the document is generated from the records, this one among them.
    const { default: document } = await import('../docs/openapi.json', { with: { type: 'json' } });
    return ok({ ...document, servers: [{ url: issuer() }] });
  },
  document: !process.env.BUNDLED && {
    summary: 'This API as an OpenAPI 3.1 document',
    description:
      'Generated from the records that serve the requests. Tools can read it from here at any time.',
    tag: 'Metadata',
    responses: {
      200: {
        description: 'The document.',
        body: v.objectWithRest({ openapi: v.string() }, v.unknown()),
        example: { openapi: '3.1.1' },
      },
    },
  },
});
