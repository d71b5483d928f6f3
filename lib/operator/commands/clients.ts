import * as v from 'valibot';
import { timestamp } from '../../foundation/clock.ts';
import { invalid, ServiceError } from '../../foundation/service-error.ts';
import { keysIn, replaceKeys, shownKey, thumbprintsOf } from '../../login-apps/client-keys.ts';
import { grantTypes } from '../../login-apps/client-metadata.ts';
import * as appClients from '../../login-apps/clients.ts';
import type { LoginApp } from '../../login-apps/login-app.ts';
import { mobileApplicationItem } from '../../login-apps/mobile-applications.ts';
import { checkKeys } from '../../providers/jwt/issuer-keys.ts';
import { providerIds } from '../../providers/provider-ids.ts';
import { providersOf } from '../../providers/public-clients.ts';
import { providerUrlSchema } from '../../providers/settings/fields.ts';
import { revokeSecretOf, shownSecret } from '../../secrets/item-secrets.ts';
import { matchesAny } from '../../secrets/secrets.ts';
import { deleteItem, putItem, updateOwnItem } from '../../storage/items.ts';
import {
  defineCommands,
  id,
  json,
  onOff,
  optional,
  secret,
  some,
  subset,
  text,
} from '../command.ts';
import { pageOf } from '../pages.ts';
import { client, existingOf, loginApp, nextPage, platform, secretOf, secretTo } from './shared.ts';

/**
 * A client of a Login App.
 * @throws ServiceError when there is none
 */
const clientOf = ({ clients }: LoginApp, id: string) =>
  existingOf(clients.keys(), clients.get(id), 'such client');

export const clientShown = (client: appClients.LoginAppClient) => ({
  client_id: client.client_id,
  grant_types: client.grant_types ?? [...grantTypes],
  recipients: appClients.readsRecipients(client),
  provider_tokens: client.provider_tokens,
  provider_tokens_offline: client.provider_tokens_offline,
  secrets: client.secrets.length,
  keys: client.keys?.length,
  ...client.workload_identity,
  public_on: client.public_on,
  providers: client.public_on && providersOf(client),
  created_at: client.created_at,
});

const allowedGrants = subset(
  grantTypes,
  `The grants that the client may use: all, none (it may only introspect tokens, and what other flags allow), or some of ${grantTypes.join(', ')}, separated by commas`,
);

const mayReadRecipients = onOff(
  'Let the client read recipients with their push tokens although --grant-types limits it, and report dead tokens',
);

const mayGetProviderTokens = onOff(
  'Let the client get access tokens of providers whose settings have keep_tokens, each for a Login User Token of the person (RFC 8693)',
);

const mayGetProviderTokensOffline = onOff(
  'Let the client get them for the id of any person, also while they are away: its secret gives access to all of them',
);

const jwksFile = json(
  'A file with a JSON Web Key Set: one or two public keys by which the client signs its assertions (RFC 7517)',
);

/**
 * The credential of a client that gets no secret; undefined for one that does.
 * @throws ServiceError
 */
async function secretlessCredential(
  keySet: unknown,
  issuer: string | undefined,
  subject: string | undefined,
): Promise<appClients.SecretlessCredential | undefined> {
  if (issuer === undefined && subject === undefined)
    return keySet === undefined ? undefined : { keys: await keysIn(keySet) };
  if (issuer === undefined || subject === undefined || keySet !== undefined)
    throw invalid('Give --jwks-file, or --issuer and --subject together.');
  // A mistake in the address shows at once.
  const { issues } = v.safeParse(providerUrlSchema, issuer);
  const found = issues ? { ok: false, detail: issues[0].message } : await checkKeys({ issuer });
  if (!found.ok) throw invalid(`--issuer: ${found.detail}`);
  return { workload_identity: { issuer, subject } };
}

const isRevoked = () => new ServiceError('not_found', 'The client was revoked meanwhile.');

const isPublic = () =>
  invalid(
    'The client is public: it has no credential, and its grants are fixed. clients set-providers changes its providers.',
  );

const atProviders = some(
  providerIds,
  'The providers that a public client may use, separated by commas; provider_f, for id tokens, unless you name others. Elsewhere, each made-up credential of anybody is a call of the provider, so anybody can spend the quota of your app there',
);

export const clientCommands = defineCommands({
  'clients list': {
    summary: 'List the clients of a Login App',
    flags: { 'login-app': loginApp, after: optional(id('la_….c_…', nextPage)) },
    run: async ({ 'login-app': { login_app_id, clients }, after }) => {
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
    run: async ({ 'login-app': { login_app_id, clients }, secret }) => {
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
      const app = await loginApp.find(appClients.loginAppIdOf(id) ?? '');
      const found = clientOf(app, id);
      return {
        login_app_id: app.login_app_id,
        ...clientShown(found),
        secrets: found.secrets.map(shownSecret),
        keys: found.keys?.map(shownKey),
        login_app_disabled: app.disabled_at !== undefined,
      };
    },
  },
  'clients create': {
    summary:
      'Create a client of a Login App: with a secret, which is shown only once, with public keys, or for a workload that another issuer knows',
    flags: {
      'login-app': loginApp,
      'grant-types': optional(allowedGrants),
      recipients: mayReadRecipients,
      'provider-tokens': mayGetProviderTokens,
      'provider-tokens-offline': mayGetProviderTokensOffline,
      'jwks-file': optional(jwksFile),
      public: onOff(
        'Without a credential: for the app of a phone, which proves a key of its own (RFC 9449)',
      ),
      platform: optional({ ...platform, help: 'With --public: the platform of the app' }),
      providers: optional({ ...atProviders, help: `With --public: ${atProviders.help}` }),
      issuer: optional(
        text('The iss of the tokens that authenticate the client, such as that of a cluster'),
      ),
      subject: optional(text('With --issuer: the sub of these tokens, exactly')),
    },
    files: secretTo,
    run: async ({
      'login-app': app,
      'grant-types': grant_types,
      recipients,
      'provider-tokens': provider_tokens,
      'provider-tokens-offline': provider_tokens_offline,
      providers,
      ...flags
    }) => {
      const { login_app_id } = app;
      const more = { grant_types, recipients, provider_tokens, provider_tokens_offline };
      if (flags.public || flags.platform) {
        const hasRights = Object.values(more).some((right) => right !== undefined);
        const isAlone = !hasRights && Object.values(flags).filter(Boolean).length === 2;
        if (!flags.public || !flags.platform || !isAlone)
          throw invalid('Give --public with --platform, and neither rights nor credentials.');
        const client = {
          grant_types: appClients.publicGrantTypes,
          public_on: flags.platform,
          providers,
        };
        const client_id = await appClients.createSecretlessClient(login_app_id, client);
        return { login_app_id, client_id, ...client, providers: providersOf(client) };
      }
      if (providers)
        throw invalid('--providers is for --public: other clients may use any provider.');
      const credential = await secretlessCredential(
        flags['jwks-file'],
        flags.issuer,
        flags.subject,
      );
      if (!credential)
        return { login_app_id, ...(await appClients.createClient(login_app_id, more)) };
      const client_id = await appClients.createSecretlessClient(login_app_id, {
        ...more,
        ...credential,
      });
      const { keys, workload_identity } = credential;
      return {
        login_app_id,
        client_id,
        key_thumbprints: keys && thumbprintsOf(keys),
        ...workload_identity,
      };
    },
  },
  'clients update': {
    summary:
      "Change which grants a client may use, and whether it may read recipients or get providers' tokens; takes up to 30 seconds",
    flags: {
      'login-app': loginApp,
      client,
      'grant-types': allowedGrants,
      recipients: mayReadRecipients,
      'provider-tokens': mayGetProviderTokens,
      'provider-tokens-offline': mayGetProviderTokensOffline,
    },
    run: async ({
      'login-app': app,
      client,
      'grant-types': allowed,
      recipients = false,
      ...flags
    }) => {
      const { login_app_id } = app;
      const { client_id, public_on } = clientOf(app, client);
      if (public_on) throw isPublic();
      const providerTokens = {
        provider_tokens: flags['provider-tokens'],
        provider_tokens_offline: flags['provider-tokens-offline'],
      };
      const set = { grant_types: allowed, recipients: recipients || undefined, ...providerTokens };
      const item = appClients.clientItem(login_app_id, client_id);
      if (!(await updateOwnItem(item, { set }))) throw isRevoked();
      return {
        login_app_id,
        client_id,
        grant_types: allowed ?? grantTypes,
        recipients: !allowed || recipients,
        ...providerTokens,
      };
    },
  },
  'clients set-providers': {
    summary: 'Set which providers a public client may use; takes up to 30 seconds',
    flags: { 'login-app': loginApp, client, providers: atProviders },
    example: '--login-app "$LOGIN_APP" --client "$PUBLIC_CLIENT" --providers provider_f,provider_b',
    run: async ({ 'login-app': app, client, providers }) => {
      const { login_app_id } = app;
      const { client_id, public_on } = clientOf(app, client);
      if (!public_on)
        throw invalid('The client is not public: it may use any provider that its Login App has.');
      const item = appClients.clientItem(login_app_id, client_id);
      if (!(await updateOwnItem(item, { set: { providers } }))) throw isRevoked();
      return { login_app_id, client_id, providers };
    },
  },
  'clients rotate': {
    summary:
      'Give a client a second secret, or a further key; the old one stays valid until it is revoked',
    flags: { 'login-app': loginApp, client, 'jwks-file': optional(jwksFile) },
    files: secretTo,
    run: async ({ 'login-app': app, client, 'jwks-file': keySet }) => {
      const { login_app_id } = app;
      const found = clientOf(app, client);
      const { client_id, keys = [], workload_identity, public_on } = found;
      if (public_on) throw isPublic();
      if (workload_identity || (keys.length > 0 && keySet === undefined))
        throw invalid(
          'The client has no secret: give --jwks-file, or create another one for another issuer.',
        );
      if (keySet !== undefined) {
        const added = await keysIn(keySet);
        await replaceKeys(login_app_id, found, [...keys, ...added]);
        const key_thumbprints = thumbprintsOf(added);
        return { login_app_id, client_id, key_thumbprints, old_keys: keys.map(shownKey) };
      }
      const { secret, old_secrets } = await appClients.rotateClientSecret(login_app_id, found);
      return { login_app_id, client_id, client_secret: secret, old_secrets };
    },
  },
  'clients revoke': {
    summary:
      'Revoke a client and its Login App Tokens, or one of its secrets or keys; takes up to 30 seconds',
    flags: {
      'login-app': loginApp,
      client,
      secret: optional(secretOf('clients show')),
      key: optional(id('THUMBPRINT', 'The thumbprint of the key', 'clients show')),
    },
    run: async ({ 'login-app': app, client, secret, key }) => {
      const { login_app_id } = app;
      const found = clientOf(app, client);
      const { client_id, keys = [] } = found;
      if (secret !== undefined && key !== undefined)
        throw invalid('Give --secret or --key, not both.');
      if (secret !== undefined) {
        const item = appClients.clientItem(login_app_id, client_id);
        const left = await revokeSecretOf(item, found, secret, { needsOne: keys.length === 0 });
        return { login_app_id, client_id, ...left };
      }
      if (key !== undefined) {
        const left = keys.filter(({ thumbprint }) => thumbprint !== key);
        existingOf(thumbprintsOf(keys), left.length < keys.length, 'such key of the client');
        await replaceKeys(login_app_id, found, left);
        return { login_app_id, client_id, keys: left.map(shownKey) };
      }
      await deleteItem(appClients.clientItem(login_app_id, client_id));
      return { login_app_id, client_id, revoked: true };
    },
  },
  'mobile-applications set': {
    summary: 'Allow devices of a platform to register',
    flags: { 'login-app': loginApp, platform },
    run: async ({ 'login-app': { login_app_id }, platform }) => {
      await putItem(mobileApplicationItem(login_app_id, platform), {
        platform,
        created_at: timestamp(),
      });
      return { login_app_id, platform };
    },
  },
  'mobile-applications remove': {
    summary: 'Stop devices of a platform from registering',
    flags: { 'login-app': loginApp, platform },
    run: async ({ 'login-app': { login_app_id, mobileApplications }, platform }) => {
      existingOf(
        mobileApplications,
        mobileApplications.has(platform),
        `mobile application for ${platform}`,
      );
      await deleteItem(mobileApplicationItem(login_app_id, platform));
      return { login_app_id, platform, removed: true };
    },
  },
});
