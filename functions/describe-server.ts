import { anybody } from '../lib/http/auth/credentials.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { issuer } from '../lib/tokens/issuer.ts';
import { serverMetadata, serverMetadataSchema } from '../lib/tokens/server-metadata.ts';

export const { endpoint, handler } = serve({
  route: 'GET /.well-known/oauth-authorization-server',
  authenticate: anybody,
  cacheSeconds: 3600,
  handle: async () => ok(serverMetadata(issuer())),
  document: !process.env.BUNDLED && {
    summary: 'Metadata of the OAuth endpoints (RFC 8414)',
    description:
      'Where the OAuth endpoints are and what they support, as RFC 8414 defines it. Clients can discover everything from here.',
    tag: 'Metadata',
    responses: {
      200: {
        description: 'The metadata.',
        body: serverMetadataSchema,
        example: serverMetadata('https://login.example.com'),
      },
    },
  },
});
