import { anybody } from '../lib/http/auth/credentials.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { issuer } from '../lib/tokens/issuer.ts';
import { openIdConfiguration, openIdConfigurationSchema } from '../lib/tokens/server-metadata.ts';

export const { endpoint, handler } = serve({
  route: 'GET /.well-known/openid-configuration',
  authenticate: anybody,
  cacheSeconds: 3600,
  handle: async () => ok(openIdConfiguration(issuer())),
  document: !process.env.BUNDLED && {
    summary: 'The same metadata, for verifiers that use OpenID Connect Discovery',
    description:
      'The metadata of the OAuth endpoints, with what OpenID Connect Discovery adds. The service is no OpenID provider: it issues no id tokens and has no authorization endpoint. API Gateway and many libraries find the issuer and its keys here.',
    tag: 'Metadata',
    responses: {
      200: {
        description: 'The metadata.',
        body: openIdConfigurationSchema,
        example: openIdConfiguration('https://login.example.com'),
      },
    },
  },
});
