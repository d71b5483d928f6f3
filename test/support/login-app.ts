import type { Service } from './service.ts';

/** What a test may want to know of a Login App that it has made. */
export interface LoginApp {
  login_app_id: string;
  client_id: string;
  client_secret: string;
}

/** A Login App of the test's own with one client; it has nothing else yet. */
export async function createLoginApp({ operate }: Service, name: string): Promise<LoginApp> {
  const { login_app_id } = await operate('login-apps', 'create', { name });
  return createClient({ operate }, String(login_app_id));
}

export async function createClient({ operate }: Pick<Service, 'operate'>, id: string): Promise<LoginApp> {
  const { client_id, client_secret } = await operate('clients', 'create', { 'login-app': id });
  return { login_app_id: id, client_id: String(client_id), client_secret: String(client_secret) };
}

/** The settings of a demo provider, secrets masked: for those that have none, the settings themselves. */
export async function demoSettings({ demo, operate }: Service, provider: string): Promise<unknown> {
  const { providers } = await operate('providers', 'show', {
    'login-app': demo.login_app.login_app_id,
    provider,
  });
  return Object(providers)[provider];
}
