import {
  createClient,
  revokeClient,
  revokeClientSecret,
  rotateClientSecret,
  setGrantTypes,
} from '../../login-apps/clients.ts';
import { createLoginApp } from '../../login-apps/create-login-app.ts';
import { type LoginApp, readLoginApp } from '../../login-apps/login-app.ts';
import { createLoginAppToken, revokeLoginAppToken } from '../../login-apps/login-app-tokens.ts';
import { removeMobileApplication, setMobileApplication } from '../../login-apps/mobile-applications.ts';
import { endAllSessions, setLoginAppDisabled, undoLogout } from '../../login-apps/switches.ts';
import { ServiceError } from '../../service-error.ts';
import { grantTypes } from '../../tokens/grants/grant-types.ts';
import type { CommandsOf } from '../commands-of.ts';
import { membersOf } from '../flags.ts';
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
  const { login_app_id, clients } = await requireLoginApp(loginAppId);
  const client = clients.get(clientId);
  if (!client) throw noSuchClient(clients);
  return { login_app_id, ...client };
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

export const loginAppCommands: CommandsOf<'login-apps'> = {
  create: async ({ name }) => createLoginApp(name),
  disable: ({ 'login-app': id }) => disable(id, true),
  enable: ({ 'login-app': id }) => disable(id, false),
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
    const shown = [...tokens.values()].map(({ token_id, name, created_at }) => ({
      token_id,
      name,
      created_at,
    }));
    return { login_app_id, tokens: shown };
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

export const clientCommands: CommandsOf<'clients'> = {
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
      throw new ServiceError('not_found', 'The Login App has no mobile application for this platform.');
    }
    await removeMobileApplication(login_app_id, platform);
    return { login_app_id, platform, removed: true };
  },
};
