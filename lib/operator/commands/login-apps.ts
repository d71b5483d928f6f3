import * as v from 'valibot';
import { ServiceError } from '../../errors/service-error.ts';
import {
  clientIdForm,
  createClient,
  type LoginAppClient,
  revokeClient,
  revokeClientSecret,
  rotateClientSecret,
  setGrantTypes,
} from '../../login-apps/clients.ts';
import { createLoginApp, renameLoginApp } from '../../login-apps/create-login-app.ts';
import { grantTypes } from '../../login-apps/grant-types.ts';
import { type LoginApp, loginAppItem, readLoginApp } from '../../login-apps/login-app.ts';
import {
  createLoginAppToken,
  revokeLoginAppToken,
  type StoredLoginAppToken,
} from '../../login-apps/login-app-tokens.ts';
import { removeMobileApplication, setMobileApplication } from '../../login-apps/mobile-applications.ts';
import { endAllSessions, setLoginAppDisabled, undoLogout } from '../../login-apps/switches.ts';
import { deleteLoginApp, reasonToKeep } from '../../offboarding/delete-login-app.ts';
import { matchesAny } from '../../secrets/secrets.ts';
import { shownSecret } from '../../storage/item-secrets.ts';
import { loginAppsList, namePrefix } from '../../storage/keys.ts';
import { readPage } from '../../storage/pages.ts';
import type { CommandsOf } from '../commands-of.ts';
import { membersOf } from '../flags.ts';
import { pageOf } from '../page-of.ts';
import { disabledSince } from './disabled.ts';
import { revokedOrThrow, rotatedOrThrow } from './secrets.ts';

/** The Login App of a command. @throws ServiceError when there is none */
export async function requireLoginApp(id: string): Promise<LoginApp> {
  const loginApp = await readLoginApp(id);
  if (!loginApp) throw noSuchLoginApp();
  return loginApp;
}

const noSuchLoginApp = (): ServiceError => new ServiceError('not_found', 'There is no such Login App.');

/** A client of a Login App. @throws ServiceError when there is none */
async function requireClient(loginAppId: string, clientId: string) {
  const { login_app_id, disabled_at, clients } = await requireLoginApp(loginAppId);
  const client = clients.get(clientId);
  if (!client) throw noSuchClient(clients);
  return { login_app_id, disabled_at, ...client };
}

const noSuchClient = (clients: LoginApp['clients']): ServiceError =>
  new ServiceError('not_found', `The Login App has no such client; it has ${listed(clients.keys())}.`);

/** Ids in a sentence. */
const listed = (ids: Iterable<string>): string => [...ids].join(', ') || 'none';

async function disable(login_app_id: string, disabled: boolean): Promise<Record<string, unknown>> {
  if (!(await setLoginAppDisabled(login_app_id, disabled))) throw noSuchLoginApp();
  return { login_app_id, disabled };
}

/** From when sessions are valid after a logout or its undoing. @throws ServiceError when nothing was changed */
function validFromOrThrow(outcome: Awaited<ReturnType<typeof undoLogout>>): number {
  if (typeof outcome === 'number') return outcome;
  if (outcome === 'unknown') throw noSuchLoginApp();
  const changed =
    'Somebody else logged the Login App out meanwhile; nothing was changed. Run the command again.';
  const none = 'The Login App has no logout that can be undone.';
  throw new ServiceError('invalid_request', outcome === 'none' ? none : changed);
}

/** A Login App as an operator sees it. */
const shown = (app: v.InferOutput<typeof loginAppItem>) => ({
  login_app_id: app.login_app_id,
  name: app.name,
  ...disabledSince(app.disabled_at),
  ...(app.sessions_valid_from !== undefined && { sessions_valid_from: app.sessions_valid_from }),
  created_at: app.created_at,
});

async function listedByName(after: string | undefined, prefix = ''): Promise<Record<string, unknown>> {
  const { items, ...page } = await readPage(loginAppsList, after, prefix);
  return { login_apps: items.map((item) => shown(v.parse(loginAppItem, item))), ...page };
}

export const loginAppCommands: CommandsOf<'login-apps'> = {
  list: ({ after }) => listedByName(after),
  find: ({ name, after }) => listedByName(after, namePrefix(name)),
  show: async ({ 'login-app': id }) => {
    const loginApp = await requireLoginApp(id);
    const { clients, providers, mobileApplications, tokens } = loginApp;
    return {
      ...shown(loginApp),
      providers: [...providers.keys()],
      mobile_applications: [...mobileApplications],
      clients: [...clients.values()].map(shownClient),
      tokens: [...tokens.values()].map(shownToken),
    };
  },
  rename: async ({ 'login-app': login_app_id, name }) => {
    if (!(await renameLoginApp(login_app_id, name))) throw noSuchLoginApp();
    return { login_app_id, name };
  },
  create: async ({ name }) => createLoginApp(name),
  disable: ({ 'login-app': id }) => disable(id, true),
  enable: ({ 'login-app': id }) => disable(id, false),
  delete: async ({ 'login-app': id, 'with-everything': withEverything }) => {
    const loginApp = await requireLoginApp(id);
    const reason = withEverything ? undefined : await reasonToKeep(loginApp);
    if (reason !== undefined) {
      const message = `The Login App is not deleted: ${reason}. --with-everything deletes its people and devices too.`;
      throw new ServiceError('invalid_request', message);
    }
    return { login_app_id: loginApp.login_app_id, ...(await deleteLoginApp(loginApp)) };
  },
  logout: async ({ 'login-app': login_app_id }) => ({
    login_app_id,
    sessions_valid_from: validFromOrThrow(await endAllSessions(login_app_id)),
  }),
  'undo-logout': async ({ 'login-app': login_app_id }) => ({
    login_app_id,
    sessions_valid_from: validFromOrThrow(await undoLogout(login_app_id)),
  }),
  'tokens create': async ({ 'login-app': id, name }) => {
    const { login_app_id } = await requireLoginApp(id);
    return { login_app_id, ...(await createLoginAppToken(login_app_id, name)) };
  },
  'tokens list': async ({ 'login-app': id }) => {
    const { login_app_id, tokens } = await requireLoginApp(id);
    return { login_app_id, tokens: [...tokens.values()].map(shownToken) };
  },
  'tokens revoke': async ({ 'login-app': id, token }) => {
    const { login_app_id, tokens } = await requireLoginApp(id);
    if (!tokens.has(token)) {
      throw new ServiceError(
        'not_found',
        `The Login App has no such token; it has ${listed(tokens.keys())}.`,
      );
    }
    await revokeLoginAppToken(login_app_id, token);
    return { login_app_id, token_id: token, revoked: true };
  },
};

/** A client as an operator sees it. */
const shownClient = ({ client_id, grant_types = [...grantTypes], secrets, created_at }: LoginAppClient) => ({
  client_id,
  grant_types,
  secrets: secrets.length,
  created_at,
});

const shownToken = ({ token_id, name, created_at }: StoredLoginAppToken) => ({ token_id, name, created_at });

export const clientCommands: CommandsOf<'clients'> = {
  list: async ({ 'login-app': id, after }) => {
    const { login_app_id, clients } = await requireLoginApp(id);
    const { page, ...next } = pageOf(clients.values(), ({ client_id }) => client_id, after);
    return { login_app_id, clients: page.map(shownClient), ...next };
  },
  show: async ({ client: id }) => {
    const { disabled_at, ...client } = await requireClient(clientIdForm.exec(id)?.[1] ?? '', id);
    return {
      login_app_id: client.login_app_id,
      ...shownClient(client),
      secrets: client.secrets.map(shownSecret),
      login_app_disabled: disabled_at !== undefined,
    };
  },
  find: async ({ 'login-app': id, secret }) => {
    const { login_app_id, clients } = await requireLoginApp(id);
    for (const { client_id, secrets } of clients.values()) {
      const found = secrets.find((stored) => matchesAny(secret, [stored]));
      if (found) return { login_app_id, client_id, ...shownSecret(found) };
    }
    throw new ServiceError('not_found', 'No client of the Login App has this secret.');
  },
  create: async ({ 'login-app': id, 'grant-types': given = 'all' }) => {
    const { login_app_id } = await requireLoginApp(id);
    const allowed = membersOf(given, grantTypes);
    return { login_app_id, ...(await createClient(login_app_id, allowed)) };
  },
  update: async ({ 'login-app': id, client, 'grant-types': given }) => {
    const { login_app_id, client_id } = await requireClient(id, client);
    const allowed = membersOf(given, grantTypes);
    if (!(await setGrantTypes(login_app_id, client_id, allowed))) {
      throw new ServiceError('not_found', 'The client was revoked meanwhile.');
    }
    return { login_app_id, client_id, grant_types: allowed ?? grantTypes };
  },
  rotate: async ({ 'login-app': id, client }) => {
    const found = await requireClient(id, client);
    const { login_app_id, client_id } = found;
    const { secret, old_secrets } = rotatedOrThrow(await rotateClientSecret(login_app_id, found), found);
    return { login_app_id, client_id, client_secret: secret, old_secrets };
  },
  revoke: async ({ 'login-app': id, client, secret }) => {
    const found = await requireClient(id, client);
    const { login_app_id, client_id } = found;
    if (secret !== undefined) {
      const left = revokedOrThrow(await revokeClientSecret(login_app_id, found, secret), found);
      return { login_app_id, client_id, ...left };
    }
    await revokeClient(login_app_id, client_id);
    return { login_app_id, client_id, revoked: true };
  },
};

export const mobileApplicationCommands: CommandsOf<'mobile-applications'> = {
  set: async ({ 'login-app': id, platform }) => {
    const { login_app_id } = await requireLoginApp(id);
    await setMobileApplication(login_app_id, platform);
    return { login_app_id, platform };
  },
  remove: async ({ 'login-app': id, platform }) => {
    const { login_app_id, mobileApplications } = await requireLoginApp(id);
    if (!mobileApplications.has(platform)) {
      const message = `The Login App has no mobile application for ${platform}; it has ${listed(mobileApplications)}.`;
      throw new ServiceError('not_found', message);
    }
    await removeMobileApplication(login_app_id, platform);
    return { login_app_id, platform, removed: true };
  },
};
