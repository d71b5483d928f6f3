import { identitiesOf } from '../../people/deletion/export-login-user.ts';
import { namespaceOf } from '../../people/identities/find-login-user.ts';
import { linkIdentity } from '../../people/identities/link-identity.ts';
import { unlinkIdentity } from '../../people/identities/unlink-identity.ts';
import { defineCommands } from '../command.ts';
import { id, onOff, optional, text } from '../flags.ts';
import { loginUser, provider, requireLoginApp, requireLoginUser } from './shared.ts';

export const identityCommands = defineCommands({
  'identities list': {
    summary: 'List the identities that a Login User can log in with',
    flags: { 'login-user': loginUser },
    run: async ({ 'login-user': login_user_id }) => ({
      login_user_id,
      identities: await identitiesOf(await requireLoginUser(login_user_id)),
    }),
  },
  'identities remove': {
    summary: 'Unlink an identity from a Login User, who must have another one',
    flags: { 'login-user': loginUser, identity: id('i_…', 'The identity', 'identities list') },
    run: async ({ 'login-user': login_user_id, identity: identity_id }) => {
      await requireLoginUser(login_user_id);
      await unlinkIdentity(login_user_id, identity_id, { byOperator: true });
      return { login_user_id, identity_id, removed: true };
    },
  },
  'identities add': {
    summary: 'Link an identity to a Login User',
    flags: {
      'login-user': loginUser,
      provider,
      subject: text("The provider's id of the person"),
      issuer: optional(text('Who vouches for them, if the provider has several issuers')),
      move: onOff('Take it from another Login User who has it'),
    },
    run: async ({ 'login-user': login_user_id, provider, subject, issuer, move = false }) => {
      const user = await requireLoginUser(login_user_id);
      const namespace = namespaceOf(await requireLoginApp(user.login_app_id), { provider, issuer });
      const verified = { namespace, subject };
      const { isNew, identity } = await linkIdentity(user, provider, verified, { byOperator: true, move });
      return { login_user_id, identity_id: identity.id, provider, added: isNew };
    },
  },
});
