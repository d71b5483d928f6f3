import type { ProviderId } from '../../lib/providers/provider-ids.ts';
import { applyPreset } from '../../lib/providers/set-up/apply-preset.ts';
import type { PresetName } from '../../lib/providers/set-up/presets.ts';
import { createLoginApp } from './login-app.ts';
import { privateKey, type Scene, startProviderStandIn } from './provider-stand-in.ts';
import { type Service, unique } from './service.ts';

const tenant = '9188040d-6c67-4c5b-b112-36a304b66dad';
export const appSecret = privateKey;

/** Answers by the address of the endpoint, without its scheme and query. */
export type Answers = Record<string, [status: number, body: object]>;

/** Logins by presets, at a stand-in for their providers. */
export async function presetLogins(service: Service) {
  const standIn = await startProviderStandIn();

  /** A Login App with a preset whose addresses lead to a scene. */
  async function setUp(scene: Scene, preset: PresetName, provider: ProviderId) {
    const { settings } = Object(
      applyPreset(preset, provider, {
        'app-id': ['our-app'],
        'app-secret': appSecret,
        'redirect-uri': ['https://app.example/callback'],
        tenant,
        'team-id': 'our-team',
        'key-id': 'our-key',
      }),
    );
    const atScene = JSON.stringify(settings)
      .replaceAll('https://', `${scene.url}/`)
      .replace(`${scene.url}/app.example`, 'https://app.example');
    const app = await createLoginApp(service, unique('app'));
    await service.setProvider(app, provider, JSON.parse(atScene));
    return app;
  }

  /** What a login by a preset ends in, and what the log says of it. */
  async function logInWhen(preset: PresetName, credential: 'code' | 'token', answers: Answers) {
    const scene = standIn.openScene();
    for (const [endpoint, [status, body]] of Object.entries(answers))
      scene.answer(endpoint, { status, body });
    const provider = preset === 'twitter' ? 'provider_c' : 'provider_b';
    const app = await setUp(scene, preset, provider);
    const bound = preset === 'x' ? { code_verifier: 'v'.repeat(43) } : {};
    const sent =
      credential === 'code'
        ? { grant_type: 'provider_authorization_code', authorization_code: 'a-code', ...bound }
        : { grant_type: 'provider_credentials', access_token: 'a-token' };
    const secret = preset === 'twitter' ? { access_secret: 'its-secret' } : {};
    const { status, body, headers } = await service.token({ provider, ...sent, ...secret }, app);
    return { scene, status, error: body.error, request_id: headers.get('x-request-id') };
  }

  return { standIn, setUp, logInWhen };
}

export const facebookError = (code: number, message: string, type = 'OAuthException') => ({
  error: { message, type, code, fbtrace_id: 'AYvBzLgkiUVGsr1NNTn7LSC' },
});
export const twitchError = (status: number, message: string) => ({ status, message });
export const xProblem = (status: number, title: string, kind: string) => ({
  title,
  detail: title,
  type: `https://api.x.com/2/problems/${kind}`,
  status,
});

export const facebook = {
  me: 'graph.facebook.com/me',
  debug: 'graph.facebook.com/debug_token',
  token: 'graph.facebook.com/oauth/access_token',
};
export const google = {
  user: 'openidconnect.googleapis.com/v1/userinfo',
  info: 'oauth2.googleapis.com/tokeninfo',
  token: 'oauth2.googleapis.com/token',
};
export const github = {
  user: 'api.github.com/user',
  check: 'api.github.com/applications/our-app/token',
  token: 'github.com/login/oauth/access_token',
};
export const line = {
  user: 'api.line.me/v2/profile',
  verify: 'api.line.me/oauth2/v2.1/verify',
  token: 'api.line.me/oauth2/v2.1/token',
};
export const discord = {
  user: 'discord.com/api/v10/users/@me',
  me: 'discord.com/api/v10/oauth2/@me',
  token: 'discord.com/api/v10/oauth2/token',
};
export const xMe = 'api.x.com/2/users/me';
export const xToken = 'api.x.com/2/oauth2/token';
export const appleToken = 'appleid.apple.com/auth/token';
export const microsoftToken = `login.microsoftonline.com/${tenant}/oauth2/v2.0/token`;
export const twitchToken = 'id.twitch.tv/oauth2/token';
export const linkedinToken = 'www.linkedin.com/oauth/v2/accessToken';
export const kakaoToken = 'kauth.kakao.com/oauth/token';

export const facebookGood: Answers = {
  [facebook.me]: [200, { id: '7' }],
  [facebook.debug]: [200, { data: { app_id: 'our-app', is_valid: true, user_id: '7' } }],
};
