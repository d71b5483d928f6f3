import { definedOnly } from '../../foundation/defined-only.ts';
import { knownIssuers } from './companies.ts';
import {
  codeExchange,
  exchangeAt,
  exchangeForIdToken,
  exchangeSettings,
  firstOf,
  type Need,
  openId,
  type Preset,
  type PresetOptions,
} from './preset.ts';

const appleIssuer = knownIssuers.apple.issuer;
const appleTokenUrl = `${appleIssuer}/auth/token`;
const appleNeeds: Need[] = ['app-secret', 'team-id', 'key-id'];
const appleExchange = ({ teamId, keyId, appSecret }: PresetOptions) => ({
  client_secret: undefined,
  client_secret_jwt: { team_id: teamId, key_id: keyId, private_key_secret: appSecret },
  revocation_url: `${appleIssuer}/auth/revoke`,
});
const google = { ...knownIssuers.google, nonce_form: 'plain' } as const;
const microsoftAt = ({ tenant }: PresetOptions): string => `https://login.microsoftonline.com/${tenant}`;
const microsoft = (options: PresetOptions) =>
  ({
    issuer: `${microsoftAt(options)}/v2.0`,
    jwks_uri: `${microsoftAt(options)}/discovery/v2.0/keys`,
    nonce_form: 'plain',
  }) as const;

/** Presets of well-known providers, all of which say which app a token was issued to. */
export const presets = {
  facebook: {
    documentation: [
      'https://developers.facebook.com/docs/graph-api/reference/debug_token',
      'https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow',
    ],
    needs: ['app-secret'],
    oauth2: (options) => ({
      // The id is the `sub` of Limited Login's id tokens: a person is one Login User, whatever the app sends.
      namespace: knownIssuers.facebook.issuer,
      user_info: { url: 'https://graph.facebook.com/me?fields=id', subject_field: 'id' },
      audience_validation: {
        method: 'token_info',
        url: 'https://graph.facebook.com/debug_token',
        token_parameter: 'input_token',
        app_token_parameter: 'access_token',
        app_token_secret: `${firstOf(options)}|${options.appSecret}`,
        audience_field: 'data.app_id',
        valid_field: 'data.is_valid',
        // The error for a token of another app.
        error_field: 'error.code',
        refused_errors: ['100'],
        subject_field: 'data.user_id',
        audiences: options.appIds,
      },
      ...codeExchange(options, 'https://graph.facebook.com/oauth/access_token', {
        error_field: 'error.code',
        refused_errors: ['100'],
      }),
      ...(options.notifications instanceof Object && {
        notifications: { app_secret: options.appSecret, ...options.notifications },
      }),
    }),
  },
  google: {
    documentation: [
      'https://developers.google.com/identity/openid-connect/openid-connect',
      'https://docs.cloud.google.com/docs/authentication/token-types',
    ],
    oidc: () => google,
    oauth2: (options) => ({
      // The `sub` is that of the id tokens: a person is one Login User, whatever the app sends.
      namespace: google.issuer,
      user_info: { url: 'https://openidconnect.googleapis.com/v1/userinfo', subject_field: 'sub' },
      audience_validation: {
        method: 'token_info',
        url: 'https://oauth2.googleapis.com/tokeninfo',
        token_parameter: 'access_token',
        audience_field: 'aud',
        subject_field: 'sub',
        audiences: options.appIds,
      },
      ...codeExchange(options, 'https://oauth2.googleapis.com/token', {
        id_token: definedOnly({ ...google, notifications: options.notifications }),
      }),
    }),
  },
  twitter: {
    documentation: [
      'https://docs.x.com/fundamentals/authentication/oauth-1-0a/authorizing-a-request',
      'https://docs.x.com/x-api/users/lookup/quickstart/authenticated-lookup',
    ],
    needs: ['app-secret'],
    oauth1: (options) => ({
      verify_url: 'https://api.x.com/2/users/me',
      consumer_key: firstOf(options),
      consumer_secret: options.appSecret,
      subject_field: 'data.id',
    }),
  },
  x: {
    documentation: [
      'https://docs.x.com/fundamentals/authentication/oauth-2-0/user-access-token',
      'https://docs.x.com/x-api/users/lookup/quickstart/authenticated-lookup',
    ],
    // X does not say which app an access token was issued to, but redeems a code only for its own app.
    codes: {
      needs: ['app-secret', 'redirect-uri'],
      settings: (options) => ({
        user_info: { url: 'https://api.x.com/2/users/me', subject_field: 'data.id' },
        ...exchangeAt('https://api.x.com/2/oauth2/token', options, {
          client_authentication: 'basic',
          // X's error for a code or a verifier that is wrong.
          refused_errors: ['invalid_request', 'invalid_grant'],
        }),
      }),
    },
  },
  github: {
    documentation: [
      'https://docs.github.com/en/rest/apps/oauth-applications#check-a-token',
      'https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps',
      'https://docs.github.com/en/apps/oauth-apps/maintaining-oauth-apps/troubleshooting-oauth-app-access-token-request-errors',
    ],
    needs: ['app-secret'],
    oauth2: (options) => ({
      user_info: { url: 'https://api.github.com/user', subject_field: 'id', subject_type: 'integer' },
      audience_validation: {
        method: 'token_info',
        url: `https://api.github.com/applications/${encodeURIComponent(firstOf(options))}/token`,
        token_parameter: 'access_token',
        send_token_as: 'json',
        client_id: firstOf(options),
        client_secret: options.appSecret,
        refused_statuses: [404, 422],
        audience_field: 'app.client_id',
        subject_field: 'user.id',
        audiences: options.appIds,
      },
      ...codeExchange(options, 'https://github.com/login/oauth/access_token', {
        refused_errors: ['bad_verification_code'],
      }),
    }),
  },
  line: {
    documentation: [
      'https://developers.line.biz/en/reference/line-login/#verify-access-token',
      'https://developers.line.biz/en/reference/line-login/#issue-access-token',
    ],
    oauth2: (options) => ({
      user_info: { url: 'https://api.line.me/v2/profile', subject_field: 'userId' },
      audience_validation: {
        method: 'token_info',
        url: 'https://api.line.me/oauth2/v2.1/verify',
        token_parameter: 'access_token',
        audience_field: 'client_id',
        audiences: options.appIds,
      },
      ...codeExchange(options, 'https://api.line.me/oauth2/v2.1/token'),
    }),
  },
  apple: {
    documentation: [
      'https://developer.apple.com/documentation/signinwithapple/verifying-a-user',
      'https://developer.apple.com/documentation/signinwithapplerestapi/generate-and-validate-tokens',
      'https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret',
      'https://developer.apple.com/documentation/signinwithapplerestapi/revoke-tokens',
    ],
    // Apps on iOS send Apple the hash of the nonce. A web page that gets a code may send either.
    oidc: (options) => ({
      ...knownIssuers.apple,
      nonce_form: 'sha256',
      ...(options.appSecret && {
        code_exchange: definedOnly(exchangeSettings(appleTokenUrl, options, appleExchange(options))),
        user_profile: { email: 'email', given_name: 'name.firstName', family_name: 'name.lastName' },
      }),
    }),
    exchangeNeeds: appleNeeds,
    codes: {
      needs: appleNeeds,
      settings: (options) =>
        exchangeForIdToken(appleTokenUrl, options, knownIssuers.apple, appleExchange(options)),
    },
  },
  microsoft: {
    documentation: [
      'https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc',
      'https://learn.microsoft.com/en-us/entra/identity-platform/id-token-claims-reference',
      'https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow',
    ],
    needs: ['tenant'],
    oidc: microsoft,
    codes: {
      needs: ['app-secret', 'tenant'],
      settings: (options) =>
        exchangeForIdToken(`${microsoftAt(options)}/oauth2/v2.0/token`, options, microsoft(options)),
    },
  },
  'facebook-limited': {
    documentation: [
      'https://developers.facebook.com/docs/facebook-login/limited-login/token',
      'https://developers.facebook.com/docs/facebook-login/limited-login/token/validating',
    ],
    // Facebook repeats any nonce: some apps send it the nonce, others the hash.
    oidc: () => knownIssuers.facebook,
  },
  discord: {
    documentation: ['https://discord.com/developers/docs/topics/oauth2'],
    oauth2: (options) => ({
      user_info: { url: 'https://discord.com/api/v10/users/@me', subject_field: 'id' },
      audience_validation: {
        method: 'token_info',
        url: 'https://discord.com/api/v10/oauth2/@me',
        send_token_as: 'bearer',
        audience_field: 'application.id',
        subject_field: 'user.id',
        refused_statuses: [401],
        audiences: options.appIds,
      },
      ...codeExchange(options, 'https://discord.com/api/v10/oauth2/token'),
    }),
  },
  twitch: {
    documentation: ['https://dev.twitch.tv/docs/authentication/getting-tokens-oidc/'],
    ...openId({ ...knownIssuers.twitch, nonce_form: 'plain' }, 'https://id.twitch.tv/oauth2/token'),
  },
  linkedin: {
    documentation: [
      'https://learn.microsoft.com/en-us/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2',
      'https://learn.microsoft.com/en-us/linkedin/shared/authentication/authorization-code-flow',
    ],
    ...openId(
      { ...knownIssuers.linkedin, nonce_form: 'plain' },
      'https://www.linkedin.com/oauth/v2/accessToken',
    ),
  },
  kakao: {
    documentation: [
      'https://developers.kakao.com/docs/latest/en/kakaologin/utilize',
      'https://developers.kakao.com/docs/latest/en/kakaologin/rest-api',
    ],
    // Kakao repeats any nonce: some apps send it the nonce, others the hash.
    ...openId(knownIssuers.kakao, 'https://kauth.kakao.com/oauth/token'),
  },
  oidc: {
    documentation: ['https://openid.net/specs/openid-connect-core-1_0.html'],
    needs: ['issuer'],
    oidc: ({ issuer = '', jwksUri }) => definedOnly({ issuer, jwks_uri: jwksUri }),
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof presets;
export const presetNames = Object.keys(presets) as PresetName[];
