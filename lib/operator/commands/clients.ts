import { loginAppIdOf } from '../../foundation/ids.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import {
  clientItem,
  createClient,
  type LoginAppClient,
  readsRecipients,
  revokeClient,
  rotateClientSecret,
  setGrantTypes,
} from '../../login-apps/clients.ts';
import { grantTypes } from '../../login-apps/grant-types.ts';
import { revokeSecretOf, shownSecret } from '../../secrets/item-secrets.ts';
import { matchesAny } from '../../secrets/secrets.ts';
import { defineCommands } from '../command.ts';
import { id, membersOf, onOff, optional, secret, subset } from '../flags.ts';
import { pageOf } from '../pages.ts';
import { client, existingOf, loginApp, nextPage, requireLoginApp, secretOf, secretTo } from './shared.ts';

/** A client of a Login App. @throws ServiceError when there is none */
async function requireClient(loginAppId: string, clientId: string) {
  const { login_app_id, disabled_at, clients } = await requireLoginApp(loginAppId);
  const found = existingOf(clients.keys(), clients.get(clientId), 'such client');
  return { login_app_id, disabled_at, ...found };
}

export const clientShown = (client: LoginAppClient) => ({
  client_id: client.client_id,
  grant_types: client.grant_types ?? [...grantTypes],
  recipients: readsRecipients(client),
  secrets: client.secrets.length,
  created_at: client.created_at,
});

const allowedGrants = subset(
  grantTypes,
  `The grants that the client may use: all, none (it may only introspect tokens), or some of ${grantTypes.join(', ')}, separated by commas`,
);

const mayReadRecipients = onOff(
  'Let the client read recipients with their push tokens although --grant-types limits it, and report dead tokens',
);

export const clientCommands = defineCommands({
  'clients list': {
    summary: 'List the clients of a Login App',
    flags: { 'login-app': loginApp, after: optional(id('la_….c_…', nextPage)) },
    run: async ({ 'login-app': id, after }) => {
      const { login_app_id, clients } = await requireLoginApp(id);
      const { page, ...next } = pageOf(clients.values(), ({ client_id }) => client_id, after);
      return { login_app_id, clients: page.map(clientShown), ...next };
    },
  },
  'clients find': {
    summary: 'Show which client of a Login App has a secret',
    flags: {
      'login-app': loginApp,
      secret: secret('A file with the secret of a client; - for standard input'),
    },
    run: async ({ 'login-app': id, secret }) => {
      const { login_app_id, clients } = await requireLoginApp(id);
      for (const { client_id, secrets } of clients.values()) {
        const found = secrets.find((stored) => matchesAny(secret, [stored]));
        if (found) return { login_app_id, client_id, ...shownSecret(found) };
      }
      throw new ServiceError('not_found', 'No client of the Login App has this secret.');
    },
  },
  'clients show': {
    summary: 'Show a client, its secrets, its grants and whether its Login App is disabled',
    flags: { client },
    run: async ({ client: id }) => {
      const { login_app_id, disabled_at, ...found } = await requireClient(loginAppIdOf(id) ?? '', id);
      return {
        login_app_id,
        ...clientShown(found),
        secrets: found.secrets.map(shownSecret),
        login_app_disabled: disabled_at !== undefined,
      };
    },
  },
  'clients create': {
    summary: 'Create a client of a Login App; its secret is shown only once',
    flags: { 'login-app': loginApp, 'grant-types': optional(allowedGrants), recipients: mayReadRecipients },
    files: secretTo,
    run: async ({ 'login-app': id, 'grant-types': given = 'all', recipients }) => {
      const { login_app_id } = await requireLoginApp(id);
      const allowed = membersOf(given, grantTypes);
      return { login_app_id, ...(await createClient(login_app_id, allowed, { recipients })) };
    },
  },
  'clients update': {
    summary:
      'Change which grants a client may use, and whether it may read recipients; takes up to 30 seconds',
    flags: { 'login-app': loginApp, client, 'grant-types': allowedGrants, recipients: mayReadRecipients },
    run: async ({ 'login-app': id, client, 'grant-types': given, recipients = false }) => {
      const { login_app_id, client_id } = await requireClient(id, client);
      const allowed = membersOf(given, grantTypes);
      if (!(await setGrantTypes(login_app_id, client_id, allowed, recipients)))
        throw new ServiceError('not_found', 'The client was revoked meanwhile.');
      return {
        login_app_id,
        client_id,
        grant_types: allowed ?? grantTypes,
        recipients: !allowed || recipients,
      };
    },
  },
  'clients rotate': {
    summary: 'Give a client a second secret; the old one stays valid until it is revoked',
    flags: { 'login-app': loginApp, client },
    files: secretTo,
    run: async ({ 'login-app': id, client }) => {
      const found = await requireClient(id, client);
      const { login_app_id, client_id } = found;
      const { secret, old_secrets } = await rotateClientSecret(login_app_id, found);
      return { login_app_id, client_id, client_secret: secret, old_secrets };
    },
  },
  'clients revoke': {
    summary: 'Revoke a client and its Login App Tokens, or one of its secrets; takes up to 30 seconds',
    flags: { 'login-app': loginApp, client, secret: optional(secretOf('clients show')) },
    run: async ({ 'login-app': id, client, secret }) => {
      const found = await requireClient(id, client);
      const { login_app_id, client_id } = found;
      if (secret !== undefined) {
        const left = await revokeSecretOf(clientItem(login_app_id, client_id), found, secret);
        return { login_app_id, client_id, ...left };
      }
      await revokeClient(login_app_id, client_id);
      return { login_app_id, client_id, revoked: true };
    },
  },
});
