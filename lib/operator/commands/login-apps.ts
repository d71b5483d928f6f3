import { type LoginApp, readLoginApp } from '../../login-apps/login-app.ts';
import {
  createClient,
  createLoginApp,
  removeMobileApplication,
  revokeClient,
  setMobileApplication,
} from '../../login-apps/manage-login-app.ts';
import { Refusal } from '../../refusal.ts';
import type { CommandsOf } from '../operate.ts';

/** The Login App of a command. @throws Refusal when there is none */
export async function requireLoginApp(id: string): Promise<LoginApp> {
  const loginApp = await readLoginApp(id);
  if (!loginApp) throw new Refusal('not_found', 'There is no such Login App.');
  return loginApp;
}

export const loginAppCommands: CommandsOf<'login-apps'> = {
  create: async ({ name }) => createLoginApp(name),
};

export const clientCommands: CommandsOf<'clients'> = {
  create: async ({ 'login-app': id }) => {
    const { login_app_id } = await requireLoginApp(id);
    return { login_app_id, ...(await createClient(login_app_id)) };
  },
  revoke: async ({ 'login-app': id, client }) => {
    const { login_app_id } = await requireLoginApp(id);
    if (!(await revokeClient(login_app_id, client)))
      throw new Refusal('not_found', 'The Login App has no such client.');
    return { login_app_id, client_id: client, revoked: true };
  },
};

export const mobileApplicationCommands: CommandsOf<'mobile-applications'> = {
  set: async ({ 'login-app': id, platform }) => {
    const { login_app_id } = await requireLoginApp(id);
    await setMobileApplication(login_app_id, platform);
    return { login_app_id, platform };
  },
  remove: async ({ 'login-app': id, platform }) => {
    const { login_app_id } = await requireLoginApp(id);
    if (!(await removeMobileApplication(login_app_id, platform))) {
      throw new Refusal('not_found', 'The Login App has no mobile application for this platform.');
    }
    return { login_app_id, platform, removed: true };
  },
};
