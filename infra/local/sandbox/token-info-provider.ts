import type { ServerResponse } from 'node:http';
import { bearerToken, queryOf, sendInvalidToken, sendJson, sendNotFound } from './answers.ts';
import { registerApps, requestedApp } from './apps.ts';
import { type OpaqueToken, OpaqueTokens } from './opaque-tokens.ts';
import type { SandboxProvider } from './sandbox-provider.ts';
import { opaqueId } from './subject-ids.ts';
import { epochSeconds, validity } from './validity.ts';

/**
 * An OAuth 2.0 provider with a token-info endpoint that anyone may ask, as LINE and Google have it.
 *
 * @see https://developers.line.biz/en/reference/line-login/#verify-access-token
 */
export function createTokenInfoProvider(url: string, providerId: string): SandboxProvider {
  const apps = registerApps(providerId);
  const tokens = new OpaqueTokens();

  return {
    settings: {
      user_info: { url: `${url}/userinfo`, subject_field: 'id' },
      audience_validation: {
        method: 'token_info',
        url: `${url}/tokeninfo`,
        token_parameter: 'access_token',
        audience_field: 'aud',
        subject_field: 'user_id',
        audiences: [apps.ours.id],
      },
    },
    endpoints: new Map([
      ['/userinfo', 'user_info'],
      ['/tokeninfo', 'audience_validation'],
    ]),
    issueCredentials(request) {
      const { subject, expired } = request;
      const appId = requestedApp(apps, request).id;
      return { access_token: tokens.issue({ subject, appId, exp: validity(expired).exp }) };
    },
    answer(path, request, response) {
      switch (`${request.method} ${path}`) {
        case 'GET /userinfo':
          return sendUserInfo(response, tokens.findUnexpired(bearerToken(request)));
        case 'GET /tokeninfo':
          return sendTokenInfo(response, tokens.findUnexpired(queryOf(request).get('access_token') ?? ''));
        default:
          return sendNotFound(response, 'no such endpoint');
      }
    },
  };
}

function sendUserInfo(response: ServerResponse, token: OpaqueToken | undefined): void {
  if (token) sendJson(response, 200, { id: opaqueId(token.subject), name: token.subject });
  else sendInvalidToken(response);
}

function sendTokenInfo(response: ServerResponse, token: OpaqueToken | undefined): void {
  if (token) sendJson(response, 200, tokenInfo(token));
  else sendJson(response, 400, { error: 'invalid_token' });
}

function tokenInfo({ appId, exp, subject }: OpaqueToken): object {
  return { aud: appId, expires_in: exp - epochSeconds(), user_id: opaqueId(subject) };
}
