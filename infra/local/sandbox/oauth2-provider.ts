import { createHash, createHmac } from 'node:crypto';
import type { AccessToken } from 'oidc-provider';
import { createIdentityServer } from './identity-server.ts';
import {
  type App,
  epochSeconds,
  newApps,
  profile,
  type SandboxProvider,
  sendJson,
  validity,
} from './sandbox-provider.ts';

/** The parts in which OAuth 2.0 providers differ: how one says whom a token was issued to, and the like. */
interface Kind {
  subjectField: 'sub' | 'id';
  /** The settings of its audience validation, but for the audiences. */
  validation: (url: string, app: App) => object;
  /** The endpoint of its own at `/token_info`, from the query and the token that was found for it. */
  tokenInfo?: {
    parameter: string;
    answer: (
      query: URLSearchParams,
      token: AccessToken | undefined,
      app: App,
    ) => [status: number, body: object];
  };
  /** The id that it gives a person; otherwise the subject itself. */
  idOf?: (subject: string) => string;
  /** Whether it sends signed requests, as Facebook does. */
  signsRequests?: true;
  /** The address that authorization codes are sent to; without one it issues none. */
  redirectUri?: string;
}

const digestOf = (subject: string): Buffer => createHash('sha256').update(subject).digest();

/** Token introspection. @see RFC 7662 */
const introspection: Kind = {
  subjectField: 'sub',
  validation: (url, { id, secret }) => ({
    method: 'introspection',
    url: `${url}/token/introspection`,
    client_id: id,
    client_secret: secret,
  }),
};

/** Introspection, and authorization codes that are exchanged once. @see RFC 6749, section 4.1.3 */
const codes: Kind = { ...introspection, redirectUri: 'https://app.example/callback' };

/**
 * A token-info endpoint that anyone may ask, as LINE and Google have it.
 * @see https://developers.line.biz/en/reference/line-login/#verify-access-token
 */
const tokenInfo: Kind = {
  subjectField: 'id',
  /** An opaque id such as `U2bd806c97f0e00af1a1fc3328fa763a9`. */
  idOf: (subject) => `U${digestOf(subject).toString('hex').slice(0, 32)}`,
  validation: (url) => ({
    method: 'token_info',
    url: `${url}/token_info`,
    token_parameter: 'access_token',
    audience_field: 'aud',
    subject_field: 'user_id',
  }),
  tokenInfo: {
    parameter: 'access_token',
    answer(_query, token) {
      if (!token) return [400, { error: 'invalid_token' }];
      const { clientId: aud, exp } = token;
      return [200, { aud, expires_in: exp - epochSeconds(), user_id: idOf(tokenInfo, token) }];
    },
  },
};

/**
 * A token-info endpoint that wants the asking app's own token, as Facebook has it. A token that doesn't count is still
 * a 200, which says so.
 * @see https://developers.facebook.com/docs/facebook-login/guides/access-tokens/debugging
 */
const debugToken: Kind = {
  subjectField: 'id',
  signsRequests: true,
  /** A decimal id of 63 bits, most of them more than a double can hold. */
  idOf: (subject) => (digestOf(subject).readBigUInt64BE() >> 1n).toString(),
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
  tokenInfo: {
    parameter: 'input_token',
    answer(query, token, app) {
      const error = { code: 190, type: 'OAuthException', message: 'Invalid OAuth access token.' };
      if (query.get('access_token') !== appToken(app)) return [400, { error }];
      if (!token) return [200, { data: { is_valid: false, error } }];
      return [200, { data: { app_id: token.clientId, is_valid: true, user_id: idOf(debugToken, token) } }];
    },
  },
};

const appToken = ({ id, secret }: App): string => `${id}|${secret}`;
const idOf = (kind: Kind, { accountId }: AccessToken): string | undefined => kind.idOf?.(accountId);

/** The kinds of OAuth 2.0 providers. */
export const kinds = { introspection, codes, tokenInfo, debugToken };

export async function createOAuth2Provider(url: string, id: string, kind: Kind): Promise<SandboxProvider> {
  const { redirectUri } = kind;
  const apps = newApps(id);
  const ours = apps['our-app'];
  const server = await createIdentityServer({ issuer: url, apps, redirectUri, idOf: kind.idOf });
  return {
    settings: {
      // All providers of the sandbox have one host, and each has people of its own.
      namespace: `${id}.sandbox`,
      user_info: { url: `${url}/me`, subject_field: kind.subjectField, profile },
      audience_validation: { ...kind.validation(url, ours), audiences: [ours.id] },
      authorization_code: redirectUri && {
        token_url: `${url}/token`,
        client_id: ours.id,
        client_secret: ours.secret,
        redirect_uris: [redirectUri],
      },
      ...(kind.signsRequests && {
        notifications: { app_secret: ours.secret, data_deletion_url: 'https://app.example/deletion' },
      }),
    },
    async issue({ subject, audience, expired, claims, ...protection }) {
      if (claims) server.setClaims(subject, claims);
      const issue = { subject, app: apps[audience ?? 'our-app'], ...validity(expired) };
      const access_token = await server.issueAccessToken(issue);
      if (!redirectUri) return { access_token };
      const authorization_code = await server.issueAuthorizationCode(issue, redirectUri, protection);
      return { access_token, authorization_code };
    },
    async notify({ event, subject }) {
      if (!kind.signsRequests || !['deauthorize', 'data_deletion'].includes(event)) return undefined;
      const user_id = kind.idOf?.(subject);
      const claims = { algorithm: 'HMAC-SHA256', issued_at: epochSeconds(), user_id };
      const payload = Buffer.from(JSON.stringify(claims)).toString('base64url');
      const signature = createHmac('sha256', ours.secret).update(payload).digest('base64url');
      const body = new URLSearchParams({ signed_request: `${signature}.${payload}` });
      return { contentType: 'application/x-www-form-urlencoded', body: body.toString() };
    },
    async answer(path, request, response) {
      if (!kind.tokenInfo || path !== '/token_info') return server.answer(path, request, response);
      const query = new URL(request.url ?? '', url).searchParams;
      const token = await server.findAccessToken(query.get(kind.tokenInfo.parameter) ?? '');
      return sendJson(response, ...kind.tokenInfo.answer(query, token, ours));
    },
  };
}
