import { createLoginApp, type LoginApp } from './login-app.ts';
import { ourApp, type Scene } from './provider-stand-in.ts';
import { type Service, unique } from './service.ts';

type Addresses = (endpoint: string) => string;

interface LoginForm extends Record<string, string> {
  grant_type: string;
}

/** One endpoint of one protocol family that a login calls. */
export interface Target {
  name: string;
  provider: string;
  /** The endpoint's path at the stand-in. */
  endpoint: string;
  settings: (address: Addresses) => object;
  /** What a login sends besides its client and provider. */
  login: (scene: Scene) => Promise<LoginForm> | LoginForm;
}

const client = { client_id: ourApp, client_secret: 'our secret' };
const accessToken = () => ({ grant_type: 'provider_credentials', access_token: 'an-access-token' });

const introspected = (address: Addresses) => ({
  user_info: { url: address('user_info') },
  audience_validation: {
    method: 'introspection',
    url: address('introspection'),
    audiences: [ourApp],
    ...client,
  },
});
const tokenInfo = (address: Addresses, endpoint: string, special: object) => ({
  user_info: { url: address('user_info') },
  audience_validation: {
    method: 'token_info',
    url: address(endpoint),
    audiences: [ourApp],
    ...special,
  },
});
const exchanged = (address: Addresses) => ({
  ...introspected(address),
  authorization_code: {
    token_url: address('token'),
    redirect_uris: ['https://app.example/callback'],
    ...client,
  },
});
const byCode = () => ({ grant_type: 'provider_authorization_code', authorization_code: 'a-code' });
const byIdToken = async (scene: Scene) => ({
  grant_type: 'provider_credentials',
  id_token: await scene.idToken({ iss: scene.url }),
});
/** The issuer is where its discovery document is. */
const issued = (address: Addresses) => ({
  issuers: [
    {
      issuer: address('.well-known/openid-configuration').replace(
        '/.well-known/openid-configuration',
        '',
      ),
      audiences: [ourApp],
    },
  ],
});

/** Every kind of call to a provider, in every family. */
export const targets = {
  verification: {
    name: 'OAuth 1.0: the verification',
    provider: 'provider_c',
    endpoint: 'verify',
    settings: (address) => ({
      verify_url: address('verify'),
      consumer_key: ourApp,
      consumer_secret: 'our secret',
    }),
    login: () => ({ ...accessToken(), access_secret: 'its-secret' }),
  },
  introspection: {
    name: 'OAuth 2.0: the introspection',
    provider: 'provider_a',
    endpoint: 'introspection',
    settings: introspected,
    login: accessToken,
  },
  userInfo: {
    name: 'OAuth 2.0: the user info',
    provider: 'provider_a',
    endpoint: 'user_info',
    settings: introspected,
    login: accessToken,
  },
  tokenInfo: {
    name: 'OAuth 2.0: the token info',
    provider: 'provider_d',
    endpoint: 'token_info',
    settings: (address) =>
      tokenInfo(address, 'token_info', { audience_field: 'aud', subject_field: 'user_id' }),
    login: accessToken,
  },
  debugToken: {
    name: 'OAuth 2.0: the token info that wants a token of our app',
    provider: 'provider_e',
    endpoint: 'debug_token',
    settings: (address) =>
      tokenInfo(address, 'debug_token', {
        token_parameter: 'input_token',
        app_token_parameter: 'access_token',
        app_token_secret: 'our-app|our secret',
        audience_field: 'data.app_id',
        valid_field: 'data.is_valid',
        subject_field: 'data.user_id',
      }),
    login: accessToken,
  },
  codeExchange: {
    name: 'OAuth 2.0: the code exchange',
    provider: 'provider_b',
    endpoint: 'token',
    settings: exchanged,
    login: byCode,
  },
  userInfoAfterExchange: {
    name: 'OAuth 2.0: the user info after a code exchange',
    provider: 'provider_b',
    endpoint: 'user_info',
    settings: exchanged,
    login: byCode,
  },
  discovery: {
    name: 'OIDC: the discovery',
    provider: 'provider_f',
    endpoint: '.well-known/openid-configuration',
    settings: issued,
    login: byIdToken,
  },
  keys: {
    name: 'OIDC: the keys',
    provider: 'provider_f',
    endpoint: 'jwks',
    settings: (address) => ({
      issuers: issued(address).issuers.map((issuer) => ({ ...issuer, jwks_uri: address('jwks') })),
    }),
    login: byIdToken,
  },
} satisfies Record<string, Target>;

/** A login that can be tried: a Login App of its own, whose provider is a scene. */
export type PreparedLogin = Awaited<ReturnType<typeof prepareLogin>>;

/**
 * Makes a Login App whose provider is a scene.
 * @param base of the target's endpoint.
 * @default the scene
 */
export async function prepareLogin(
  service: Service,
  scene: Scene,
  target: Target,
  base = scene.url,
) {
  const app = await createLoginApp(service, unique('app'));
  const address = (endpoint: string) =>
    `${endpoint === target.endpoint ? base : scene.url}/${endpoint}`;
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
