import type { Demo } from '../../infra/local/demo.ts';
import type { Service } from './service.ts';

/** What a test knows of a Login App. */
export type LoginApp = Demo['login_app'];

/** What a Login App has beside its client. */
interface Setup {
  platforms?: string[];
  /** With the settings of the demo. */
  providers?: string[];
}

/** A Login App of the test's own with one client; it has nothing else unless told. */
export async function createLoginApp(
  service: Service,
  name: string,
  { platforms = [], providers = [] }: Setup = {},
): Promise<LoginApp> {
  const { operate } = service;
  const { login_app_id } = await operate('login-apps', 'create', { name });
  for (const platform of platforms) {
    await operate('mobile-applications', 'set', { 'login-app': login_app_id, platform });
  }
  for (const provider of providers) {
    const settings = await demoSettings(service, provider);
    await service.setProvider({ login_app_id }, provider, settings);
  }
  return createClient(service, String(login_app_id));
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
