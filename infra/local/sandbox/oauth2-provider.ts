import { createHash, createHmac } from 'node:crypto';
import type { AccessToken } from 'oidc-provider';
import { sendJson } from '../loopback-server.ts';
import { calendarScope } from './calendar.ts';
import { createIdentityServer } from './identity-server.ts';
import {
  type App,
  epochSeconds,
  newApps,
  profile,
  type SandboxProvider,
} from './sandbox-provider.ts';
import { redirectUris } from './sign-in-page.ts';

/** The differences between OAuth 2.0 providers. */
interface Kind {
  /** The settings of its audience validation, without the audiences. */
  validation(url: string, app: App): object;
  /** The `id` of a person; by default, a person is known by `sub`. */
  idOf?(subject: string): string;
  /**
   * The answer of its own endpoint `/token_info`.
   * @param accessToken the parameter of that name
   */
  tokenInfo?(
    accessToken: string | null,
    token: AccessToken | undefined,
    app: App,
  ): [number, object];
  /**
   * Whether it issues authorization codes, too.
   * @see RFC 6749, section 4.1.3
   */
  issuesCodes?: true;
  /** The scopes of its tokens; by default, that of OpenID Connect alone. */
  scope?: string;
  /** Whether it sends signed requests, as Facebook does. */
  signsRequests?: true;
}

const digestOf = (subject: string): Buffer => createHash('sha256').update(subject).digest();

/** An opaque id such as `U2bd806c97f0e00af1a1fc3328fa763a9`. */
const opaqueId = (subject: string): string => `U${digestOf(subject).toString('hex').slice(0, 32)}`;

/** A decimal id of 63 bits, mostly too large for a double. */
const decimalId = (subject: string): string =>
  (digestOf(subject).readBigUInt64BE() >> 1n).toString();

const appToken = ({ id, secret }: App): string => `${id}|${secret}`;

/**
 * Token introspection.
 * @see RFC 7662
 */
const introspection: Kind = {
  validation: (url, { id, secret }) => ({
    method: 'introspection',
    url: `${url}/token/introspection`,
    client_id: id,
    client_secret: secret,
  }),
};

export const kinds = {
  introspection,
  codes: { ...introspection, issuesCodes: true, scope: `openid ${calendarScope}` },
  /**
   * A token-info endpoint for anybody.
   * @see https://developers.line.biz/en/reference/line-login/#verify-access-token
   */
  tokenInfo: {
    idOf: opaqueId,
    validation: (url) => ({
      method: 'token_info',
      url: `${url}/token_info`,
      token_parameter: 'access_token',
      audience_field: 'aud',
      subject_field: 'user_id',
    }),
    tokenInfo(_accessToken, token) {
      if (!token) return [400, { error: 'invalid_token' }];
      const { clientId: aud, exp, accountId } = token;
      return [200, { aud, expires_in: exp - epochSeconds(), user_id: opaqueId(accountId) }];
    },
  },
  /**
   * Takes an app token, too.
   * @see https://developers.facebook.com/docs/facebook-login/guides/access-tokens/debugging
   */
  debugToken: {
    idOf: decimalId,
    signsRequests: true,
    validation: (url, app) => ({
      method: 'token_info',
      url: `${url}/token_info`,
      token_parameter: 'input_token',
      app_token_parameter: 'access_token',
      app_token_secret: appToken(app),
      audience_field: 'data.app_id',
      valid_field: 'data.is_valid',
      subject_field: 'data.user_id',
    }),
    tokenInfo(accessToken, token, app) {
      const error = { code: 190, type: 'OAuthException', message: 'Invalid OAuth access token.' };
      if (accessToken !== appToken(app)) return [400, { error }];
      if (!token) return [200, { data: { is_valid: false, error } }];
      const { clientId: app_id, accountId } = token;
      return [200, { data: { app_id, is_valid: true, user_id: decimalId(accountId) } }];
    },
  },
} satisfies Record<string, Kind>;

export async function createOAuth2Provider(sandboxUrl: string, id: string, kind: Kind) {
  const url = `${sandboxUrl}/${id}`;
  const apps = newApps(id);
  const ours = apps['our-app'];
  const { idOf, scope } = kind;
  const server = await createIdentityServer({ issuer: url, apps, idOf, scope });
  return {
    settings: {
      // All providers share one host, but each has people of its own.
      namespace: `${id}.sandbox`,
      user_info: { url: `${url}/me`, subject_field: kind.idOf ? 'id' : 'sub', profile },
      audience_validation: { ...kind.validation(url, ours), audiences: [ours.id] },
      authorization_code: kind.issuesCodes && {
        token_url: `${url}/token`,
        client_id: ours.id,
        client_secret: ours.secret,
        redirect_uris: redirectUris,
        pkce: 'verified',
        keep_tokens: true,
      },
      notifications: kind.signsRequests && {
        app_secret: ours.secret,
        data_deletion_url: 'https://app.example/deletion',
      },
    },
    async issue(query) {
      if (query.claims) server.setClaims(query.subject, query.claims);
      return {
        access_token: await server.issueAccessToken(query),
        authorization_code: kind.issuesCodes && (await server.issueAuthorizationCode(query)),
      };
    },
    async notify({ event, subject }) {
      if (!kind.signsRequests || !['deauthorize', 'data_deletion'].includes(event))
        return undefined;
      const claims = {
        algorithm: 'HMAC-SHA256',
        issued_at: epochSeconds(),
        user_id: kind.idOf?.(subject),
      };
      const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
      const signature = createHmac('sha256', ours.secret).update(payload).digest('base64url');
      return new URLSearchParams({ signed_request: `${signature}.${payload}` });
    },
    revokeConsent: server.endGrantsOf,
    findAccessToken: server.findAccessToken,
    async answer(path, request, response) {
      if (!kind.tokenInfo || path !== '/token_info') return server.answer(path, request, response);
      const query = new URL(request.url ?? '', url).searchParams;
      const accessToken = query.get('access_token');
      const token = await server.findAccessToken(query.get('input_token') ?? accessToken ?? '');
      return sendJson(response, ...kind.tokenInfo(accessToken, token, ours));
    },
  } satisfies SandboxProvider;
}
