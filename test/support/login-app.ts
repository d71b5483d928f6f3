import type { Demo } from '../../infra/local/demo.ts';
import type { Service } from './service.ts';

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

/**
 * Another client of a Login App.
 * @param flags of the command
 */
export async function createClient(
  { operate }: Pick<Service, 'operate'>,
  login_app_id: string,
  flags: object = {},
): Promise<LoginApp> {
  const created = await operate('clients', 'create', { 'login-app': login_app_id, ...flags });
  return {
    login_app_id,
    client_id: String(created.client_id),
    client_secret: String(created.client_secret),
  };
}

/**
 * An account of the test's own.
 * @param flags of the command
 */
export async function createAccount(
  { operate }: Pick<Service, 'operate'>,
  flags: object = {},
): Promise<Demo['account']> {
  const created = await operate('accounts', 'create', { name: 'Test', ...flags });
  return { account_id: String(created.account_id), account_secret: String(created.account_secret) };
}

/**
 * The settings of a demo provider, secrets masked: for those that have none, the settings
 * themselves.
 */
export async function demoSettings({ demo, operate }: Service, provider: string): Promise<unknown> {
  const { providers } = await operate('providers', 'show', {
    'login-app': demo.login_app.login_app_id,
    provider,
  });
  return Object(providers)[provider];
}
