import { createHash } from 'node:crypto';
import type { AccessToken } from 'oidc-provider';
import { createIdentityServer } from './identity-server.ts';
import {
  type App,
  Apps,
  epochSeconds,
  profile,
  type SandboxProvider,
  sendJson,
  validity,
} from './sandbox-provider.ts';

/** The parts in which OAuth 2.0 providers differ: how one says whom a token was issued to, and the like. */
interface Kind {
  settings: (url: string, app: App) => object;
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
  redirectUri?: string;
}

const digestOf = (subject: string): Buffer => createHash('sha256').update(subject).digest();

/** Token introspection. @see RFC 7662 */
const introspection: Kind = {
  settings: (url, { id, secret }) => ({
    user_info: { url: `${url}/me`, subject_field: 'sub', profile },
    audience_validation: {
      method: 'introspection',
      url: `${url}/token/introspection`,
      client_id: id,
      client_secret: secret,
      audiences: [id],
    },
  }),
};

const redirectUri = 'https://app.example/callback';

/** Introspection, and authorization codes that are exchanged once. @see RFC 6749, section 4.1.3 */
const codes: Kind = {
  redirectUri,
  settings: (url, app) => ({
    ...introspection.settings(url, app),
    authorization_code: {
      token_url: `${url}/token`,
      client_id: app.id,
      client_secret: app.secret,
      redirect_uris: [redirectUri],
    },
  }),
};

/**
 * A token-info endpoint that anyone may ask, as LINE and Google have it.
 * @see https://developers.line.biz/en/reference/line-login/#verify-access-token
 */
const tokenInfo: Kind = {
  /** An opaque id such as `U2bd806c97f0e00af1a1fc3328fa763a9`. */
  idOf: (subject) => `U${digestOf(subject).toString('hex').slice(0, 32)}`,
  settings: (url, { id }) => ({
    user_info: { url: `${url}/me`, subject_field: 'id', profile },
    audience_validation: {
      method: 'token_info',
      url: `${url}/token_info`,
      token_parameter: 'access_token',
      audience_field: 'aud',
      subject_field: 'user_id',
      audiences: [id],
    },
  }),
  tokenInfo: {
    parameter: 'access_token',
    answer: (_query, token) =>
      token
        ? [
            200,
            { aud: token.clientId, expires_in: token.exp - epochSeconds(), user_id: idOf(tokenInfo, token) },
          ]
        : [400, { error: 'invalid_token' }],
  },
};

/**
 * A token-info endpoint that wants the asking app's own token, as Facebook has it. A token that doesn't count is still
 * a 200, which says so.
 * @see https://developers.facebook.com/docs/facebook-login/guides/access-tokens/debugging
 */
const debugToken: Kind = {
  /** A decimal id of 63 bits, most of them more than a double can hold. */
  idOf: (subject) => (digestOf(subject).readBigUInt64BE() >> 1n).toString(),
  settings: (url, app) => ({
    user_info: { url: `${url}/me`, subject_field: 'id', profile },
    audience_validation: {
      method: 'token_info',
      url: `${url}/token_info`,
      token_parameter: 'input_token',
      app_token_parameter: 'access_token',
      app_token_secret: appToken(app),
      audience_field: 'data.app_id',
      valid_field: 'data.is_valid',
      subject_field: 'data.user_id',
      audiences: [app.id],
    },
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

const kinds = { introspection, codes, tokenInfo, debugToken };

/** An OAuth 2.0 provider of one of the kinds. */
export async function createOAuth2Provider(
  url: string,
  id: string,
  name: keyof typeof kinds,
): Promise<SandboxProvider> {
  const kind: Kind = kinds[name];
  const apps = new Apps(id);
  const server = await createIdentityServer({ issuer: url, apps: [apps.ours, apps.another], ...kind });
  return {
    // All providers of the sandbox have one host, and each has people of its own.
    settings: { namespace: `${id}.sandbox`, ...kind.settings(url, apps.ours) },
    async issue({ subject, audience, expired, claims, ...protection }) {
      if (claims) server.setClaims(subject, claims);
      const issue = { subject, app: apps.of(audience), ...validity(expired) };
      const access_token = await server.issueAccessToken(issue);
      if (!kind.redirectUri) return { access_token };
      return {
        access_token,
        authorization_code: await server.issueAuthorizationCode(issue, kind.redirectUri, protection),
      };
    },
    async answer(path, request, response) {
      if (!kind.tokenInfo || path !== '/token_info') return server.answer(path, request, response);
      const query = new URL(request.url ?? '', url).searchParams;
      const token = await server.findAccessToken(query.get(kind.tokenInfo.parameter) ?? '');
      return sendJson(response, ...kind.tokenInfo.answer(query, token, apps.ours));
    },
  };
}
