import { definedOnly } from '../../foundation/defined-only.ts';
import type { NonceForm } from '../oidc/issuer.ts';
import { knownIssuers } from './companies.ts';

export interface PresetOptions {
  /** Our app ids at the provider: one, or several where iOS, Android and web differ. */
  appIds: string[];
  appSecret: string;
  /** For the authorization-code grant. */
  redirectUris?: string[];
  /** For providers with one issuer per organisation. */
  tenant?: string | undefined;
  /** For Apple, whose client secret is signed with a private key: the `appSecret`. */
  teamId?: string | undefined;
  keyId?: string | undefined;
  /** For the preset that fits any issuer, with the address of its keys if they are on another host. */
  issuer?: string | undefined;
  jwksUri?: string | undefined;
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
  /** Needs of the exchange of the codes that come with id tokens. One that is given asks for the others. */
  exchangeNeeds?: Need[];
  /** Settings of the provider for authorization codes alone, where it takes no access tokens. */
  codes?: { needs: Need[]; settings: (options: PresetOptions) => object };
}

interface PresetIssuer {
  issuer: string;
  jwks_uri?: string;
  nonce_form?: NonceForm;
  code_exchange?: object;
  user_profile?: object;
}

/** The one app id of a provider whose secret belongs to it. */
const firstOf = ({ appIds: [first = ''] }: PresetOptions): string => first;

const exchangeSettings = (tokenUrl: string, options: PresetOptions, special: object = {}) => ({
  token_url: tokenUrl,
  client_id: firstOf(options),
  client_secret: options.appSecret,
  redirect_uris: options.redirectUris ?? [],
  client_authentication: 'form',
  ...special,
});

/** The exchange of authorization codes, when the operator gave a redirect URI. */
const codeExchange = (options: PresetOptions, tokenUrl: string, special?: object): object =>
  options.redirectUris?.length ? { authorization_code: exchangeSettings(tokenUrl, options, special) } : {};

/** The exchange of authorization codes of a provider whose id token alone says who a person is. */
const exchangeForIdToken = (
  tokenUrl: string,
  options: PresetOptions,
  issuer: PresetIssuer,
  special?: object,
) => {
  const { namespace, notifications } = options;
  const id_token = definedOnly({ ...issuer, namespace: namespace || undefined, notifications });
  return { authorization_code: exchangeSettings(tokenUrl, options, { ...special, id_token }) };
};

/** Id tokens of an issuer, and authorization codes that it exchanges for one. */
const openId = (issuer: PresetIssuer, tokenUrl: string) => ({
  oidc: () => issuer,
  codes: {
    needs: ['app-secret'] as Need[],
    settings: (options: PresetOptions) => exchangeForIdToken(tokenUrl, options, issuer),
  },
});

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
    oidc: () => google,
    oauth2: (options) => ({
      // The `sub` is that of the id tokens: a person is one Login User, whatever the app sends.
      namespace: google.issuer,
      user_info: { url: 'https://openidconnect.googleapis.com/v1/userinfo', subject_field: 'sub' },
      audience_validation: {
        method: 'token_info',
        url: 'https://oauth2.googleapis.com/tokeninfo',
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
    needs: ['app-secret'],
    oauth1: (options) => ({
      verify_url: 'https://api.x.com/2/users/me',
      consumer_key: firstOf(options),
      consumer_secret: options.appSecret,
      subject_field: 'data.id',
    }),
  },
  x: {
    // X does not say which app an access token was issued to, but redeems a code only for its own app.
    codes: {
      needs: ['app-secret', 'redirect-uri'],
      settings: (options) => ({
        user_info: { url: 'https://api.x.com/2/users/me', subject_field: 'data.id' },
        authorization_code: exchangeSettings('https://api.x.com/2/oauth2/token', options, {
          client_authentication: 'basic',
          // X's error for a code or a verifier that is wrong.
          refused_errors: ['invalid_request', 'invalid_grant'],
        }),
      }),
    },
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
    oauth2: (options) => ({
      user_info: { url: 'https://api.line.me/v2/profile', subject_field: 'userId' },
      audience_validation: {
        method: 'token_info',
        url: 'https://api.line.me/oauth2/v2.1/verify',
        audience_field: 'client_id',
        audiences: options.appIds,
      },
      ...codeExchange(options, 'https://api.line.me/oauth2/v2.1/token'),
    }),
  },
  apple: {
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
    needs: ['tenant'],
    oidc: microsoft,
    codes: {
      needs: ['app-secret', 'tenant'],
      settings: (options) =>
        exchangeForIdToken(`${microsoftAt(options)}/oauth2/v2.0/token`, options, microsoft(options)),
    },
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
        audiences: options.appIds,
      },
      ...codeExchange(options, 'https://discord.com/api/v10/oauth2/token'),
    }),
  },
  twitch: {
    ...openId({ ...knownIssuers.twitch, nonce_form: 'plain' }, 'https://id.twitch.tv/oauth2/token'),
  },
  linkedin: {
    ...openId(
      { ...knownIssuers.linkedin, nonce_form: 'plain' },
      'https://www.linkedin.com/oauth/v2/accessToken',
    ),
  },
  kakao: {
    // Kakao repeats any nonce: some apps send it the nonce, others the hash.
    ...openId(knownIssuers.kakao, 'https://kauth.kakao.com/oauth/token'),
  },
  oidc: {
    needs: ['issuer'],
    oidc: ({ issuer = '', jwksUri }) => definedOnly({ issuer, jwks_uri: jwksUri }),
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof presets;
export const presetNames = Object.keys(presets) as PresetName[];
