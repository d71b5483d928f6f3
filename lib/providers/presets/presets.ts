import type { NonceForm } from '../oidc/issuer.ts';
import { knownIssuers } from './companies.ts';

/** The flags of `providers set` that a preset reads. */
export interface PresetOptions {
  /** Our app ids at the provider: one, or several where iOS, Android and web differ. */
  'app-id': string[];
  /** For Apple, whose client secret is signed with it, a private key. */
  'app-secret'?: string | undefined;
  /** For the authorization-code grant. */
  'redirect-uri': string[];
  /** For providers with one issuer per organisation. */
  tenant?: string | undefined;
  'team-id'?: string | undefined;
  'key-id'?: string | undefined;
  /** For the preset that fits any issuer, with the address of its keys if they are on another host. */
  issuer?: string | undefined;
  'jwks-uri'?: string | undefined;
  /** The namespace in place of the provider's own. */
  namespace?: string | undefined;
  notifications?: unknown;
}

/** An option that a preset can't do without, besides an app id. */
export type Need = 'app-secret' | 'tenant' | 'team-id' | 'key-id' | 'issuer' | 'redirect-uri';

/** A well-known provider: its addresses and its audience validation, by the protocols that it speaks. */
export interface Preset {
  needs?: Need[];
  oauth1?: (options: PresetOptions) => object;
  oauth2?: (options: PresetOptions) => object;
  /** The issuer of its id tokens. */
  oidc?: (options: PresetOptions) => PresetIssuer;
  /** Settings of the provider for authorization codes alone, where it takes no access tokens. */
  codes?: (options: PresetOptions) => object;
  /** Needs of an exchange of codes besides the secret. One that is given asks for the others. */
  exchangeNeeds?: Need[];
}

interface PresetIssuer {
  issuer: string;
  jwks_uri?: string | undefined;
  nonce_form?: NonceForm;
  code_exchange?: object;
  user_profile?: object;
}

/** The one app id of a provider whose secret belongs to it. */
const firstOf = ({ 'app-id': [first = ''] }: PresetOptions): string => first;

const exchangeAt = (tokenUrl: string, options: PresetOptions, special: object = {}) => ({
  token_url: tokenUrl,
  client_id: firstOf(options),
  client_secret: options['app-secret'],
  redirect_uris: options['redirect-uri'],
  client_authentication: 'form',
  ...special,
});

/** The exchange of authorization codes, when the operator gave a redirect URI. */
const codesAt = (tokenUrl: string, options: PresetOptions, special?: object): object =>
  options['redirect-uri'].length > 0 ? { authorization_code: exchangeAt(tokenUrl, options, special) } : {};

/** The exchange of authorization codes of a provider whose id token alone says who a person is. */
const codesForIdToken = (tokenUrl: string, options: PresetOptions, issuer: PresetIssuer, special = {}) => {
  const id_token = { ...issuer, namespace: options.namespace, notifications: options.notifications };
  return { authorization_code: exchangeAt(tokenUrl, options, { ...special, id_token }) };
};

/** Id tokens of an issuer, and authorization codes that it exchanges for one. */
const openId = (issuer: PresetIssuer, tokenUrl: string) => ({
  oidc: () => issuer,
  codes: (options: PresetOptions) => codesForIdToken(tokenUrl, options, issuer),
});

const appleIssuer = knownIssuers.apple.issuer;
const appleTokenUrl = `${appleIssuer}/auth/token`;
const appleExchange = (options: PresetOptions) => ({
  client_secret: undefined,
  client_secret_jwt: {
    team_id: options['team-id'],
    key_id: options['key-id'],
    private_key_secret: options['app-secret'],
  },
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

/** Presets of well-known providers, by the pages that docs/providers.md links. All say which app a token was issued to. */
export const presets = {
  facebook: {
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
        app_token_secret: `${firstOf(options)}|${options['app-secret']}`,
        audience_field: 'data.app_id',
        valid_field: 'data.is_valid',
        // The error for a token of another app.
        error_field: 'error.code',
        refused_errors: ['100'],
        subject_field: 'data.user_id',
        audiences: options['app-id'],
      },
      ...codesAt('https://graph.facebook.com/oauth/access_token', options, {
        error_field: 'error.code',
        refused_errors: ['100'],
      }),
      ...(options.notifications instanceof Object && {
        notifications: { app_secret: options['app-secret'], ...options.notifications },
      }),
    }),
  },
  google: {
    oidc: () => google,
    oauth2: (options) => ({
      // The `sub` is that of the id tokens: a person is one Login User, whatever the app sends.
      namespace: google.issuer,
      user_info: { url: 'https://openidconnect.googleapis.com/v1/userinfo' },
      audience_validation: {
        method: 'token_info',
        url: 'https://oauth2.googleapis.com/tokeninfo',
        audience_field: 'aud',
        subject_field: 'sub',
        audiences: options['app-id'],
      },
      ...codesAt('https://oauth2.googleapis.com/token', options, {
        id_token: { ...google, notifications: options.notifications },
      }),
    }),
  },
  twitter: {
    needs: ['app-secret'],
    oauth1: (options) => ({
      verify_url: 'https://api.x.com/2/users/me',
      consumer_key: firstOf(options),
      consumer_secret: options['app-secret'],
      subject_field: 'data.id',
    }),
  },
  x: {
    // X does not say which app an access token was issued to, but redeems a code only for its own app.
    codes: (options) => ({
      user_info: { url: 'https://api.x.com/2/users/me', subject_field: 'data.id' },
      authorization_code: exchangeAt('https://api.x.com/2/oauth2/token', options, {
        client_authentication: 'basic',
        // X's error for a code or a verifier that is wrong.
        refused_errors: ['invalid_request', 'invalid_grant'],
      }),
    }),
    exchangeNeeds: ['redirect-uri'],
  },
  github: {
    needs: ['app-secret'],
    oauth2: (options) => ({
      user_info: { url: 'https://api.github.com/user', subject_field: 'id', subject_type: 'integer' },
      audience_validation: {
        method: 'token_info',
        url: `https://api.github.com/applications/${encodeURIComponent(firstOf(options))}/token`,
        send_token_as: 'json',
        client_id: firstOf(options),
        client_secret: options['app-secret'],
        refused_statuses: [404, 422],
        audience_field: 'app.client_id',
        subject_field: 'user.id',
        audiences: options['app-id'],
      },
      ...codesAt('https://github.com/login/oauth/access_token', options, {
        refused_errors: ['bad_verification_code'],
      }),
    }),
  },
  line: {
    oauth2: (options) => ({
      user_info: { url: 'https://api.line.me/v2/profile', subject_field: 'userId' },
      audience_validation: {
        method: 'token_info',
        url: 'https://api.line.me/oauth2/v2.1/verify',
        audience_field: 'client_id',
        audiences: options['app-id'],
      },
      ...codesAt('https://api.line.me/oauth2/v2.1/token', options),
    }),
  },
  apple: {
    // Apps on iOS send Apple the hash of the nonce. A web page that gets a code may send either.
    oidc: (options) => ({
      ...knownIssuers.apple,
      nonce_form: 'sha256',
      ...(options['app-secret'] && {
        code_exchange: exchangeAt(appleTokenUrl, options, appleExchange(options)),
        user_profile: { email: 'email', given_name: 'name.firstName', family_name: 'name.lastName' },
      }),
    }),
    codes: (options) => codesForIdToken(appleTokenUrl, options, knownIssuers.apple, appleExchange(options)),
    exchangeNeeds: ['team-id', 'key-id'],
  },
  microsoft: {
    needs: ['tenant'],
    oidc: microsoft,
    codes: (options) =>
      codesForIdToken(`${microsoftAt(options)}/oauth2/v2.0/token`, options, microsoft(options)),
  },
  'facebook-limited': {
    // Facebook repeats any nonce: some apps send it the nonce, others the hash.
    oidc: () => knownIssuers.facebook,
  },
  discord: {
    oauth2: (options) => ({
      user_info: { url: 'https://discord.com/api/v10/users/@me', subject_field: 'id' },
      audience_validation: {
        method: 'token_info',
        url: 'https://discord.com/api/v10/oauth2/@me',
        send_token_as: 'bearer',
        audience_field: 'application.id',
        subject_field: 'user.id',
        refused_statuses: [401],
        audiences: options['app-id'],
      },
      ...codesAt('https://discord.com/api/v10/oauth2/token', options),
    }),
  },
  twitch: openId({ ...knownIssuers.twitch, nonce_form: 'plain' }, 'https://id.twitch.tv/oauth2/token'),
  linkedin: openId(
    { ...knownIssuers.linkedin, nonce_form: 'plain' },
    'https://www.linkedin.com/oauth/v2/accessToken',
  ),
  // Kakao repeats any nonce: some apps send it the nonce, others the hash.
  kakao: openId(knownIssuers.kakao, 'https://kauth.kakao.com/oauth/token'),
  oidc: {
    needs: ['issuer'],
    oidc: ({ issuer = '', 'jwks-uri': jwks_uri }) => ({ issuer, jwks_uri }),
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof presets;
export const presetNames = Object.keys(presets) as PresetName[];
