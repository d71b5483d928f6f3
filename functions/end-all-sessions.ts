import { loginUserToken } from '../lib/http/auth/login-user-token.ts';
import { noContent, serve } from '../lib/http/serve.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';
import { endSessions } from '../lib/people/sessions/end-sessions.ts';
import { queryChoice } from '../lib/schema/form-parameters.ts';

export const { endpoint, handler } = serve({
  route: 'DELETE /v2/marketing/login/user/sessions',
  authenticate: loginUserToken,
  parameters: {
    query: {
      except: queryChoice('except', ['current'], '`current` keeps the session of the request.'),
    },
  },
  table: {
    login_users: ['GetItem', 'Query', 'UpdateItem'],
    devices: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
  },
  handle: async ({ caller, query }) => {
    const user = requireActiveUser(caller);
    return noContent(
      endSessions(user.login_user_id, user, 'person', query.except && caller.session_id),
    );
  },
  document: !process.env.BUNDLED && {
    summary: 'Ends the sessions of the Login User',
    description:
      'Ends all of them, including the session of the request; with `except=current`, all others. Their tokens are invalid at once, and the devices that they linked are unlinked.',
    tag: 'People',
    responses: { 204: { description: 'The sessions have ended.' } },
    errors: {
      invalid_request: {
        when: 'A query parameter is unknown, or `except` has another value.',
        example: 'The parameter except must be current.',
      },
    },
    example: { query: { except: 'current' } },
  },
});
