import { loginUserToken } from '../lib/http/auth/login-user-token.ts';
import { ok, serve } from '../lib/http/serve.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';
import {
  listSessions,
  sessionListSchema,
  sessionsQuery,
} from '../lib/people/sessions/session-list.ts';

export const { endpoint, handler } = serve({
  route: 'GET /v2/marketing/login/user/sessions',
  authenticate: loginUserToken,
  parameters: { query: sessionsQuery },
  table: { login_users: ['Query'] },
  handle: async ({ caller, query }) =>
    ok(await listSessions(requireActiveUser(caller), { current: caller.session_id, ...query })),
  document: !process.env.BUNDLED && {
    summary: 'Lists the active sessions of the Login User',
    description:
      'The session used last comes first. With `limit`, they come in pages. A session is used when it is refreshed: calls with its access token are not recorded.',
    tag: 'People',
    responses: {
      200: {
        description: 'The active sessions, the one used last first.',
        body: sessionListSchema,
        example: {
          sessions: [
            {
              id: 's_b2FhJ7yDk4GqXe9AoMnC5t',
              current: true,
              created_at: '2026-01-31T08:00:00.000Z',
              last_used_at: '2026-03-01T09:30:00.000Z',
              expires_at: '2026-03-31T09:30:00.000Z',
            },
          ],
        },
        links: {
          End: {
            operationId: 'end-session',
            description: 'Ends a session; here, the one used last.',
            parameters: { session_id: '$response.body#/sessions/0/id' },
          },
        },
      },
    },
    errors: {
      invalid_request: {
        when: 'A query parameter is malformed, repeated or unknown.',
        example: 'The parameter limit must be an integer from 1 to 100.',
      },
    },
  },
});
