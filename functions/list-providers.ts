import * as v from 'valibot';
import { clientSecretBasic } from '../lib/http/auth/client-secret-basic.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { listProviders, offeredProviderSchema } from '../lib/providers/set-up/offer.ts';

export const { endpoint, handler } = serve({
  route: 'GET /v2/marketing/providers',
  isBusy: true,
  authenticate: clientSecretBasic,
  table: { login_apps: ['Query'] },
  handle: async ({ caller }) => ok(await listProviders(caller)),
  document: !process.env.BUNDLED && {
    summary: 'Lists the providers of the Login App: which company each is, and what to send',
    description:
      'For the server of an app, or whoever writes it. Two Login Apps may have another company behind the same identifier. A change of the provider settings shows at once. The list is the same for every client, also where a client may not use all grants.',
    tag: 'Metadata',
    responses: {
      200: {
        description: 'The providers that are set up, in the order of their identifiers.',
        body: v.object({ providers: v.array(offeredProviderSchema) }),
        example: {
          providers: [
            {
              provider: 'provider_b',
              companies: ['Google'],
              protocol: 'oauth2',
              grants: [
                { grant_type: 'provider_credentials', required: ['access_token'], optional: [] },
                {
                  grant_type: 'provider_authorization_code',
                  required: ['authorization_code'],
                  optional: ['code_verifier', 'redirect_uri', 'nonce'],
                },
              ],
              issuers: [{ issuer: 'https://accounts.google.com', nonce: 'optional' }],
            },
          ],
        },
      },
    },
    errors: {
      unauthorized_client: {
        when: 'The Login App is disabled, or the client may use no grant; the description says what it may do.',
        example: 'The Login App is disabled.',
      },
    },
  },
});
