import { knownIssuers } from '../jwt/known-issuers.ts';

/** Flags of `providers set` that presets read. */
export interface PresetOptions {
  /** Our app ids at the provider, several where iOS, Android and web differ. */
  'app-id': string[];
  /** The client secret, or Apple's private key, which signs one. */
  'app-secret'?: string | undefined;
  'redirect-uri': string[];
  tenant?: string | undefined;
  'team-id'?: string | undefined;
  'key-id'?: string | undefined;
  issuer?: string | undefined;
  'jwks-uri'?: string | undefined;
  namespace?: string | undefined;
  notifications?: unknown;
  /** Whether the refresh tokens that come for codes are kept. */
  'keep-tokens'?: true | undefined;
  /** Whether servers also get access tokens that have more than an hour left. */
  'long-lived-tokens'?: true | undefined;
}

/** An option that a preset can't do without, besides an app id. */
export type Need = 'app-secret' | 'tenant' | 'team-id' | 'key-id' | 'issuer' | 'redirect-uri';

/** The settings of a well-known provider, by the protocols that it speaks. */
export interface Preset {
  needs?: Need[];
  oauth1?: (options: PresetOptions) => object;
  oauth2?: (options: PresetOptions) => object;
  /** The issuer of its id tokens. */
  oidc?: (options: PresetOptions) => object;
  /** The settings for authorization codes alone, where access tokens are not accepted. */
  codes?: (options: PresetOptions) => object;
  /** Needs of a code exchange besides the secret. With one of them, the others must be given. */
  exchangeNeeds?: Need[];
}

/** The only app id, where a secret belongs to it. */
const firstOf = ({ 'app-id': [first = ''] }: PresetOptions): string => first;

/** Audience validation by an endpoint that tells which app a token was issued to. */
const tokenInfoAt = (url: string, options: PresetOptions, special: object) => ({
  method: 'token_info',
  url,
  audiences: options['app-id'],
  ...special,
});

const exchangeAt = (tokenUrl: string, options: PresetOptions, special: object = {}) => ({
  token_url: tokenUrl,
  client_id: firstOf(options),
  client_secret: options['app-secret'],
  redirect_uris: options['redirect-uri'],
  client_authentication: 'form',
  keep_tokens: options['keep-tokens'],
  long_lived_tokens: options['long-lived-tokens'],
  ...special,
});

/** An issuer; its codes are exchanged, too, if the tokens that come for them are kept. */
const keepingAt = (
  tokenUrl: string,
  options: PresetOptions,
  issuer: object,
  special?: object,
): object =>
  options['keep-tokens']
    ? { ...issuer, code_exchange: exchangeAt(tokenUrl, options, special) }
    : issuer;

/** The exchange of authorization codes, if a redirect URI is given. */
const codesAt = (tokenUrl: string, options: PresetOptions, special?: object): object =>
  options['redirect-uri'].length > 0
    ? { authorization_code: exchangeAt(tokenUrl, options, special) }
    : {};

/** The exchange of authorization codes for an id token, which says who the person is. */
const codesForIdToken = (
  tokenUrl: string,
  options: PresetOptions,
  issuer: object,
  special = {},
) => {
  const id_token = {
    ...issuer,
    namespace: options.namespace,
    notifications: options.notifications,
  };
  return { authorization_code: exchangeAt(tokenUrl, options, { ...special, id_token }) };
};

/** Id tokens of an issuer, and authorization codes that it exchanges for one. */
const openId = (issuer: object, tokenUrl: string, special?: object) => ({
  oidc: (options: PresetOptions) => keepingAt(tokenUrl, options, issuer, special),
  codes: (options: PresetOptions) => codesForIdToken(tokenUrl, options, issuer, special),
});

/**
 * Facebook's limits for an app, a person, a page and a kind of call. They come with a 400.
 * @see https://developers.facebook.com/docs/graph-api/guides/error-handling
 */
const throttledByFacebook = ['4', '17', '32', '341', '613'];

/**
 * X's errors for an app that is in no project, or may not call this with such a token.
 * @see https://docs.x.com/x-api/fundamentals/response-codes-and-errors
 */
const appErrorsOfX = {
  error_field: 'title',
  app_errors: ['Client Forbidden', 'Unsupported Authentication'],
};

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
const google = { ...knownIssuers.google, nonce_form: 'plain' };
const googleTokenUrl = 'https://oauth2.googleapis.com/token';
const googleExchange = (options: PresetOptions) => ({
  app_errors: ['unauthorized_client', 'deleted_client'],
  // Revoking a refresh token ends all that the person has granted to our project.
  revocation_url: options['keep-tokens'] && 'https://oauth2.googleapis.com/revoke',
});
/** Microsoft for any tenant, or for those of a list. Each has an issuer of its own. */
const microsoftOfMany = ({ tenant }: PresetOptions) => ({
  issuer: 'https://login.microsoftonline.com/{tenantid}/v2.0',
  tenants: tenant?.split(',').map((one) => one.trim()),
  jwks_uri: 'https://login.microsoftonline.com/common/discovery/v2.0/keys',
  nonce_form: 'plain',
});
const anyMicrosoftTokenUrl = 'https://login.microsoftonline.com/common/oauth2/v2.0/token';
const microsoftAt = ({ tenant }: PresetOptions): string =>
  `https://login.microsoftonline.com/${tenant}`;
const microsoftTokenUrl = (options: PresetOptions): string =>
  `${microsoftAt(options)}/oauth2/v2.0/token`;
const microsoft = (options: PresetOptions) => ({
  issuer: `${microsoftAt(options)}/v2.0`,
  jwks_uri: `${microsoftAt(options)}/discovery/v2.0/keys`,
  nonce_form: 'plain',
});

/** All but the first tell the person to sign in once more, or to consent. */
const refusalsOfMicrosoft = {
  refused_errors: ['invalid_grant', 'interaction_required', 'consent_required'],
};

/** Presets of well-known providers, by the pages that docs/providers.md links. */
export const presets = {
  facebook: {
    needs: ['app-secret'],
    oauth2: (options) => ({
      // That of the id tokens, whose `sub` is the same id: a person is one Login User, whatever the
      // app sends.
      namespace: knownIssuers.facebook.issuer,
      user_info: {
        url: 'https://graph.facebook.com/me?fields=id',
        subject_field: 'id',
        // Apps can require it, and it does no harm at others.
        proof_secret: options['app-secret'],
        error_field: 'error.code',
        // A capability that the app lacks, a parameter such as the proof, and an unknown app.
        app_errors: ['3', '100', '101'],
        throttled_errors: throttledByFacebook,
      },
      audience_validation: tokenInfoAt('https://graph.facebook.com/debug_token', options, {
        token_parameter: 'input_token',
        app_token_parameter: 'access_token',
        app_token_secret: `${firstOf(options)}|${options['app-secret']}`,
        audience_field: 'data.app_id',
        valid_field: 'data.is_valid',
        // The error for a token of another app.
        error_field: 'error.code',
        refused_errors: ['100'],
        app_errors: ['101'],
        throttled_errors: throttledByFacebook,
        subject_field: 'data.user_id',
      }),
      ...codesAt('https://graph.facebook.com/oauth/access_token', options, {
        error_field: 'error.code',
        refused_errors: ['100'],
        // A wrong secret, an unknown app, and a redirect URI that the app doesn't allow.
        app_errors: ['1', '101', '191'],
        throttled_errors: throttledByFacebook,
      }),
      ...(options.notifications instanceof Object && {
        notifications: { app_secret: options['app-secret'], ...options.notifications },
      }),
    }),
  },
  google: {
    oidc: (options) => keepingAt(googleTokenUrl, options, google, googleExchange(options)),
    oauth2: (options) => ({
      // That of the id tokens, whose `sub` is the same: a person is one Login User, whatever the
      // app sends.
      namespace: google.issuer,
      user_info: { url: 'https://openidconnect.googleapis.com/v1/userinfo' },
      audience_validation: tokenInfoAt('https://oauth2.googleapis.com/tokeninfo', options, {
        audience_field: 'aud',
        subject_field: 'sub',
      }),
      ...codesAt(googleTokenUrl, options, {
        ...googleExchange(options),
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
      ...appErrorsOfX,
    }),
  },
  x: {
    // X doesn't tell whose an access token is, but redeems a code only for the app that it was
    // issued to.
    codes: (options) => ({
      user_info: {
        url: 'https://api.x.com/2/users/me',
        subject_field: 'data.id',
        ...appErrorsOfX,
      },
      authorization_code: exchangeAt('https://api.x.com/2/oauth2/token', options, {
        client_authentication: 'basic',
        // A code can't be requested without a challenge.
        pkce: 'required',
        // X's error for a code or a verifier that is wrong.
        refused_errors: ['invalid_request', 'invalid_grant'],
      }),
    }),
    exchangeNeeds: ['redirect-uri'],
  },
  github: {
    needs: ['app-secret'],
    oauth2: (options) => ({
      user_info: {
        url: 'https://api.github.com/user',
        subject_field: 'id',
        subject_type: 'integer',
      },
      audience_validation: tokenInfoAt(
        `https://api.github.com/applications/${encodeURIComponent(firstOf(options))}/token`,
        options,
        {
          send_token_as: 'json',
          client_id: firstOf(options),
          client_secret: options['app-secret'],
          refused_statuses: [404, 422],
          audience_field: 'app.client_id',
          subject_field: 'user.id',
        },
      ),
      ...codesAt('https://github.com/login/oauth/access_token', options, {
        // The second is about a person whose address GitHub has not verified, the third about the
        // token of a GitHub App.
        refused_errors: ['bad_verification_code', 'unverified_user_email', 'bad_refresh_token'],
        // GitHub says the last of a client id that it doesn't know.
        app_errors: ['incorrect_client_credentials', 'redirect_uri_mismatch', 'Not Found'],
      }),
    }),
  },
  line: {
    oauth2: (options) => ({
      user_info: { url: 'https://api.line.me/v2/profile', subject_field: 'userId' },
      audience_validation: tokenInfoAt('https://api.line.me/oauth2/v2.1/verify', options, {
        audience_field: 'client_id',
      }),
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
        user_profile: {
          email: 'email',
          given_name: 'name.firstName',
          family_name: 'name.lastName',
        },
      }),
    }),
    codes: (options) =>
      codesForIdToken(appleTokenUrl, options, knownIssuers.apple, appleExchange(options)),
    exchangeNeeds: ['team-id', 'key-id'],
  },
  microsoft: {
    needs: ['tenant'],
    oidc: (options) =>
      keepingAt(microsoftTokenUrl(options), options, microsoft(options), refusalsOfMicrosoft),
    codes: (options) =>
      codesForIdToken(microsoftTokenUrl(options), options, microsoft(options), refusalsOfMicrosoft),
  },
  'microsoft-any': {
    oidc: (options) =>
      keepingAt(anyMicrosoftTokenUrl, options, microsoftOfMany(options), refusalsOfMicrosoft),
    codes: (options) =>
      codesForIdToken(anyMicrosoftTokenUrl, options, microsoftOfMany(options), refusalsOfMicrosoft),
  },
  'facebook-limited': {
    // No `nonce_form`: some apps send Facebook the nonce, others its hash.
    oidc: () => knownIssuers.facebook,
  },
  discord: {
    oauth2: (options) => ({
      user_info: { url: 'https://discord.com/api/v10/users/@me', subject_field: 'id' },
      audience_validation: tokenInfoAt('https://discord.com/api/v10/oauth2/@me', options, {
        send_token_as: 'bearer',
        audience_field: 'application.id',
        subject_field: 'user.id',
        refused_statuses: [401],
      }),
      ...codesAt('https://discord.com/api/v10/oauth2/token', options),
    }),
  },
  twitch: openId(
    { ...knownIssuers.twitch, nonce_form: 'plain' },
    'https://id.twitch.tv/oauth2/token',
    {
      // Twitch has no error codes, only texts.
      error_field: 'message',
      refused_errors: ['Invalid authorization code'],
      app_errors: ['invalid client', 'invalid client secret'],
    },
  ),
  linkedin: openId(
    { ...knownIssuers.linkedin, nonce_form: 'plain' },
    'https://www.linkedin.com/oauth/v2/accessToken',
    // LinkedIn's error for a code that is used, expired or unknown, or belongs to another app.
    { refused_errors: ['invalid_request', 'invalid_grant'] },
  ),
  // No `nonce_form`: some apps send Kakao the nonce, others its hash.
  kakao: openId(knownIssuers.kakao, 'https://kauth.kakao.com/oauth/token'),
  oidc: {
    needs: ['issuer'],
    oidc: ({ issuer = '', 'jwks-uri': jwks_uri }) => ({ issuer, jwks_uri }),
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof presets;
export const presetNames = Object.keys(presets) as PresetName[];
