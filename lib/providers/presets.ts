import type { FamilyName } from './providers.ts';

/** What an operator gives for a preset. */
export interface PresetOptions {
  /** Our app ids at the provider: one, or several where iOS, Android and web differ. */
  appIds: string[];
  appSecret: string;
  /** For the authorization-code grant. */
  redirectUri?: string | undefined;
  /** For providers with one issuer per organisation. */
  tenant?: string | undefined;
}

/** A well-known provider: its addresses and its audience validation. */
export interface Preset {
  /** The provider's own pages that the settings follow. */
  documentation: string[];
  needs: ('app-secret' | 'tenant')[];
  settings: Partial<Record<FamilyName, (options: PresetOptions) => object>>;
}

const firstOf = ({ appIds: [first = ''] }: PresetOptions): string => first;

/** The exchange of authorization codes, when the operator gave a redirect URI. */
const codeExchange = (options: PresetOptions, tokenUrl: string, special: object = {}): object =>
  options.redirectUri === undefined
    ? {}
    : {
        authorization_code: {
          token_url: tokenUrl,
          client_id: firstOf(options),
          client_secret: options.appSecret,
          redirect_uri: options.redirectUri,
          client_authentication: 'form',
          ...special,
        },
      };

/** Only providers that say which app a token was issued to are here. */
export const presets = {
  facebook: {
    documentation: [
      'https://developers.facebook.com/docs/graph-api/reference/debug_token',
      'https://developers.facebook.com/docs/facebook-login/guides/advanced/manual-flow',
    ],
    needs: ['app-secret'],
    settings: {
      oauth2: (options) => ({
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
      }),
    },
  },
  google: {
    documentation: [
      'https://developers.google.com/identity/openid-connect/openid-connect',
      'https://docs.cloud.google.com/docs/authentication/token-types',
    ],
    needs: [],
    settings: {
      oidc: ({ appIds }) => ({ issuer: 'https://accounts.google.com', audiences: appIds }),
      oauth2: (options) => ({
        user_info: { url: 'https://openidconnect.googleapis.com/v1/userinfo', subject_field: 'sub' },
        audience_validation: {
          method: 'token_info',
          url: 'https://oauth2.googleapis.com/tokeninfo',
          token_parameter: 'access_token',
          audience_field: 'aud',
          subject_field: 'sub',
          audiences: options.appIds,
        },
        ...codeExchange(options, 'https://oauth2.googleapis.com/token'),
      }),
    },
  },
  twitter: {
    documentation: [
      'https://docs.x.com/fundamentals/authentication/oauth-1-0a/authorizing-a-request',
      'https://docs.x.com/x-api/users/lookup/quickstart/authenticated-lookup',
    ],
    needs: ['app-secret'],
    settings: {
      oauth1: (options) => ({
        verify_url: 'https://api.x.com/2/users/me',
        consumer_key: firstOf(options),
        consumer_secret: options.appSecret,
        subject_field: 'data.id',
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
    settings: {
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
  },
  line: {
    documentation: [
      'https://developers.line.biz/en/reference/line-login/#verify-access-token',
      'https://developers.line.biz/en/reference/line-login/#issue-access-token',
    ],
    needs: [],
    settings: {
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
  },
  apple: {
    documentation: ['https://developer.apple.com/documentation/signinwithapple/verifying-a-user'],
    needs: [],
    settings: { oidc: ({ appIds }) => ({ issuer: 'https://appleid.apple.com', audiences: appIds }) },
  },
  microsoft: {
    documentation: [
      'https://learn.microsoft.com/en-us/entra/identity-platform/v2-protocols-oidc',
      'https://learn.microsoft.com/en-us/entra/identity-platform/id-token-claims-reference',
    ],
    needs: ['tenant'],
    settings: {
      oidc: ({ appIds, tenant }) => ({
        issuer: `https://login.microsoftonline.com/${tenant}/v2.0`,
        audiences: appIds,
      }),
    },
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof presets;
export const presetNames = Object.keys(presets) as PresetName[];
