import { loginUserToken } from '../lib/http/auth/login-user-token.ts';
import { noContent, serve } from '../lib/http/serve.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';
import { endOwnSession } from '../lib/people/sessions/end-sessions.ts';
import { textField } from '../lib/schema/json-schema.ts';

export const { endpoint, handler } = serve({
  route: 'DELETE /v2/marketing/login/user/sessions/{session_id}',
  authenticate: loginUserToken,
  parameters: { path: { session_id: textField('The `id` in the list of sessions.') } },
  table: {
    login_users: ['GetItem', 'UpdateItem'],
    devices: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
  },
  handle: async ({ caller, path }) =>
    noContent(endOwnSession(requireActiveUser(caller), path.session_id)),
  document: !process.env.BUNDLED && {
    summary: 'Ends one session of the Login User',
    description:
      'Its tokens are invalid at once, and the devices that it linked are unlinked. It may be the session of the request.',
    tag: 'People',
    responses: { 204: { description: 'The session has ended.' } },
    errors: {
      not_found: {
        when: 'The person has no such session, or it is over, or the person does not exist.',
        example: 'The Login User has no such session, or it is over.',
      },
    },
    example: { path: { session_id: `s_${'A'.repeat(22)}` } },
  },
});
