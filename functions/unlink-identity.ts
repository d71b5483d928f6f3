import { loginUserToken } from '../lib/http/auth/login-user-token.ts';
import { noContent, serve } from '../lib/http/serve.ts';
import { isGuest, requireActiveUser } from '../lib/login-users/login-user.ts';
import { requireStepUp } from '../lib/login-users/recent-login.ts';
import { noSuchIdentity, unlinkIdentity } from '../lib/people/identities/unlink-identity.ts';
import { textField } from '../lib/schema/json-schema.ts';
import { stepUpErrors } from './shared/errors.ts';

export const { endpoint, handler } = serve({
  route: 'DELETE /v2/marketing/login/user/identities/{identity_id}',
  authenticate: loginUserToken,
  parameters: { path: { identity_id: textField('The `id` of one of their identities.') } },
  table: { login_users: ['GetItem', 'UpdateItem'] },
  secrets: ['provider-settings'],
  callsProviders: true,
  handle: async ({ caller, path }) => {
    const user = requireActiveUser(caller);
    if (isGuest(user)) throw noSuchIdentity();
    requireStepUp(caller);
    const { login_user_id } = user;
    return noContent(unlinkIdentity({ login_user_id, identity_id: path.identity_id }));
  },
  document: !process.env.BUNDLED && {
    summary: 'Unlinks an identity from the Login User',
    description:
      'From then on, a login with it creates a new Login User. Sessions go on, even those that were started with it: end them if somebody else may have used it.',
    tag: 'People',
    responses: { 204: { description: 'The identity is no longer theirs.' } },
    errors: {
      ...stepUpErrors,
      not_found: {
        when: 'The person has no such identity, or does not exist.',
        example: 'The Login User has no such identity.',
      },
      unprocessable_entity: {
        when: 'It is their last identity: they could not log in any longer.',
        example:
          'The last identity cannot be unlinked: nobody could log in any longer. Delete the account instead.',
        field: 'identity_id',
      },
    },
    example: { path: { identity_id: `i_${'A'.repeat(22)}` } },
  },
});
