import { loginUserToken } from '../lib/http/auth/login-user-token.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { showCaller, shownLoginUserSchema } from '../lib/people/identities/identities-of-person.ts';
import { exampleAccount, exampleIdentity } from './shared/example-account.ts';

export const { endpoint, handler } = serve({
  route: 'GET /v2/marketing/login/user',
  isBusy: true,
  authenticate: loginUserToken,
  handle: async ({ caller }) => ok(showCaller(caller)),
  document: !process.env.BUNDLED && {
    summary: 'Shows the Login User and what they can log in with',
    description:
      'Ids of providers are not shown. `last_login_at` is the latest login with any of the identities. A `profile` is what a provider said: show it, but know people by `id` alone.',
    tag: 'People',
    responses: {
      200: {
        description: 'The Login User, with their identities, the oldest first.',
        body: shownLoginUserSchema,
        example: {
          ...exampleAccount,
          identities: [
            {
              ...exampleIdentity,
              profile: { email: 'alice@example.com', email_verified: true, name: 'Alice Example' },
            },
            {
              id: 'i_b2FhJ7yDk4GqXe9AoMnC5t',
              provider: 'provider_b',
              linked_at: '2026-02-14T18:20:00.000Z',
            },
          ],
        },
        links: {
          Unlink: {
            operationId: 'unlink-identity',
            description: 'Unlinks an identity; here, the first one, if there is another.',
            parameters: { identity_id: '$response.body#/identities/0/id' },
          },
        },
      },
    },
  },
});
