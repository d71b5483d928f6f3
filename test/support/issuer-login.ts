import { decodeJwt } from 'jose';
import { createLoginApp } from './login-app.ts';
import { accountOf } from './people.ts';
import { type Claims, ourApp, type ProviderStandIn, type Scene } from './provider-stand-in.ts';
import { type Answer, type Service, unique } from './service.ts';

/**
 * Makes a Login App with an issuer as provider_f, and a person's logins and notifications.
 * @param settings of the issuer
 */
export async function newIssuerLogin(
  service: Service,
  standIn: ProviderStandIn,
  settings: object = {},
) {
  const scene = standIn.openScene();
  const app = await createLoginApp(service, unique('app'));
  await service.setProvider(app, 'provider_f', {
    issuers: [{ issuer: scene.url, audiences: [ourApp], ...settings }],
  });
  const subject = unique('alice');
  const logIn = async (sub = subject, claims: Claims = {}) => {
    const { body, status } = await service.byIdToken(await scene.idToken({ ...claims, sub }), app);
    const token = String(body.access_token);
    return {
      status,
      token,
      loginUserId: String(decodeJwt(token).sub),
      account: accountOf(service, token),
    };
  };
  /** A notification about the person, signed by the issuer. */
  const notification = (type: string, claims: Claims = {}): Promise<string> => {
    const { sub, exp, ...named } = { sub: undefined, exp: undefined, ...claims };
    const events = JSON.stringify({ type, sub: subject, event_time: 1 });
    return scene.idToken({ sub, exp, events, jti: unique('jti'), ...named });
  };
  const address = (query = `?login_app_id=${app.login_app_id}`, provider = 'provider_f') =>
    `/v2/marketing/providers/${provider}/notifications${query}`;
  const post = (payload: unknown, query?: string, provider?: string) =>
    service.json(address(query, provider), { payload });
  const notify = async (type: string, claims?: Claims): Promise<Answer> =>
    post(await notification(type, claims));
  const issSub = (more: object = {}) => ({
    format: 'iss_sub',
    iss: scene.url,
    sub: subject,
    ...more,
  });
  /**
   * A security event token; its subject is at the top unless the claims or the event say otherwise.
   */
  const setOf = (name: string, claims: Claims = {}, event: object = {}, header: object = {}) => {
    const events = {
      [name.includes('//') ? name : `https://schemas.openid.net/secevent/${name}`]: event,
    };
    const about = { sub: undefined, exp: undefined, jti: unique('jti'), sub_id: issSub() };
    return scene.idToken({ ...about, events, ...claims }, { typ: 'secevent+jwt', ...header });
  };
  const push = (body: string): Promise<Answer> =>
    service.call(address(), {
      method: 'POST',
      headers: { 'content-type': 'application/secevent+jwt' },
      body,
    });
  const sendForm = (form: Record<string, string>): Promise<Answer> => service.form(address(), form);
  const messages = { notification, notify, post, issSub, setOf, push, sendForm, address };
  return { scene, app, subject, logIn, ...messages };
}

/**
 * Makes a Login App whose provider_a issues JWT access tokens.
 * @param change of the audience validation
 * @param more settings
 */
export async function newJwtLogin(
  service: Service,
  standIn: ProviderStandIn,
  change: object = {},
  more: (scene: Scene) => object = () => ({}),
) {
  const scene = standIn.openScene();
  const app = await createLoginApp(service, unique('app'));
  const set = (settings: object, provider = 'provider_a') =>
    service.setProvider(app, provider, settings);
  const send = (access_token: string, provider = 'provider_a') =>
    service.token({ grant_type: 'provider_credentials', provider, access_token }, app);
  const audience_validation = { method: 'jwt', issuer: scene.url, audiences: [ourApp], ...change };
  await set({ audience_validation, ...more(scene) });
  const logIn = async (claims: Claims = {}, header: object = { typ: 'at+jwt' }) =>
    send(await scene.idToken({ sub: unique('alice'), ...claims }, header));
  return { scene, app, audience_validation, set, send, logIn };
}
