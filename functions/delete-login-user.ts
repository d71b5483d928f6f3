import { loginUserToken } from '../lib/http/auth/login-user-token.ts';
import { noContent, serve } from '../lib/http/serve.ts';
import { requireActiveUser } from '../lib/login-users/login-user.ts';
import { deleteLoginUser } from '../lib/people/deletion/delete-login-user.ts';
import { loginUserPath } from '../lib/tokens/issuer.ts';
import { presenceHeaders, requirePresence } from '../lib/tokens/require-presence.ts';
import { presenceErrors } from './shared/errors.ts';

export const { endpoint, handler } = serve({
  route: `DELETE ${loginUserPath}`,
  authenticate: loginUserToken,
  parameters: { headers: presenceHeaders },
  table: {
    login_users: ['GetItem', 'Query', 'PutItem', 'UpdateItem', 'DeleteItem'],
    devices: ['GetItem', 'BatchGetItem', 'Query', 'UpdateItem'],
    used_once: ['GetItem', 'PutItem'],
  },
  secrets: ['provider-settings', 'refresh-tokens'],
  callsProviders: true,
  handle: async ({ caller, headers }) => {
    // One whose deletion was interrupted is neither there nor blocked, and can't log in again. One
    // who was merged is refused.
    if (!caller.isDeleted || caller.merged) {
      requireActiveUser(caller);
      await requirePresence(caller, headers.dpop, { method: 'DELETE', path: loginUserPath });
    }
    return noContent(deleteLoginUser(caller.login_user_id, 'person', { last: caller.session_id }));
  },
  document: !process.env.BUNDLED && {
    summary: 'Deletes the Login User',
    description:
      'Their sessions and identities are gone, their devices are unlinked, and all their tokens are invalid at once. After a 5xx, send the request again with the same token: it finishes the deletion. Somebody who logs in again later is a new Login User with another id.',
    tag: 'People',
    responses: {
      204: {
        description:
          'The Login User is deleted. A second call gets a 401, since no session is left.',
      },
    },
    errors: presenceErrors,
  },
});
