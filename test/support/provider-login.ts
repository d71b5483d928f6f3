import { createLoginApp, type LoginApp } from './login-app.ts';
import type { Scene } from './provider-stand-in.ts';
import type { Target } from './provider-targets.ts';
import { type Service, unique } from './service.ts';

/** A login that can be tried: a Login App of its own, whose provider is a scene. */
export type PreparedLogin = Awaited<ReturnType<typeof prepareLogin>>;

/**
 * Makes a Login App whose provider is a scene.
 * @param base where the target's endpoint is; another address than the scene's leads elsewhere
 */
export async function prepareLogin(service: Service, scene: Scene, target: Target, base = scene.url) {
  const app = await createLoginApp(service, unique('app'));
  const address = (endpoint: string) => `${endpoint === target.endpoint ? base : scene.url}/${endpoint}`;
  const { provider } = target;
  const settings = target.settings(address);
  await service.setProvider(app, provider, settings);
  // An issuer is where its discovery document is, also when that is elsewhere.
  const isDiscovery = target.endpoint.startsWith('.well-known/');
  const form = { provider, ...(await target.login(isDiscovery ? { ...scene, url: base } : scene)) };
  return { target, app, scene, form };
}

/** The login, and the id by which the service's log names it. */
export async function logIn(service: Service, { form, ...place }: PreparedLogin) {
  const { status, headers, body } = await service.token(form, place.app);
  return { ...place, status, error: body.error, requestId: headers.get('x-request-id') };
}

/** How many Login Users a Login App has. */
export async function peopleOf({ operate }: Service, { login_app_id }: LoginApp): Promise<number> {
  const { login_users } = await operate('login-users', 'list', { 'login-app': login_app_id });
  return Object.values(Object(login_users)).length;
}
