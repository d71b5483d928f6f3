import type { ServerResponse } from 'node:http';
import { bearerToken, queryOf, sendInvalidToken, sendJson, sendNotFound } from './answers.ts';
import { registerApps, requestedApp } from './apps.ts';
import { type OpaqueToken, OpaqueTokens } from './opaque-tokens.ts';
import type { SandboxProvider } from './sandbox-provider.ts';
import { numericId } from './subject-ids.ts';
import { epochSeconds, validity } from './validity.ts';

/**
 * An OAuth 2.0 provider whose token-info endpoint wants the asking app's own token, as Facebook has it.
 *
 * @see https://developers.facebook.com/docs/facebook-login/guides/access-tokens/debugging
 */
export function createDebugTokenProvider(url: string, providerId: string): SandboxProvider {
  const apps = registerApps(providerId);
  const appToken = `${apps.ours.id}|${apps.ours.secret}`;
  const tokens = new OpaqueTokens();

  return {
    settings: {
      user_info: { url: `${url}/me`, subject_field: 'id' },
      audience_validation: {
        method: 'token_info',
        url: `${url}/debug_token`,
        token_parameter: 'input_token',
        app_token_parameter: 'access_token',
        app_token_secret: appToken,
        audience_field: 'data.app_id',
        valid_field: 'data.is_valid',
        subject_field: 'data.user_id',
        audiences: [apps.ours.id],
      },
    },
    endpoints: new Map([
      ['/me', 'user_info'],
      ['/debug_token', 'audience_validation'],
    ]),
    issueCredentials(request) {
      const { subject, expired } = request;
      const appId = requestedApp(apps, request).id;
      return { access_token: tokens.issue({ subject, appId, exp: validity(expired).exp }) };
    },
    answer(path, request, response) {
      const query = queryOf(request);
      switch (`${request.method} ${path}`) {
        case 'GET /me':
          return sendUserInfo(response, tokens.findUnexpired(bearerToken(request)));
        case 'GET /debug_token':
          if (query.get('access_token') !== appToken) return sendWrongAppToken(response);
          return sendJson(response, 200, { data: debugInfo(tokens.find(query.get('input_token') ?? '')) });
        default:
          return sendNotFound(response, 'no such endpoint');
      }
    },
  };
}

function sendUserInfo(response: ServerResponse, token: OpaqueToken | undefined): void {
  if (token) sendJson(response, 200, { id: numericId(token.subject) });
  else sendInvalidToken(response);
}

function sendWrongAppToken(response: ServerResponse): void {
  const error = { message: 'Invalid OAuth access token.', type: 'OAuthException', code: 190 };
  sendJson(response, 400, { error });
}

/** A token that doesn't count is still a 200, which says so. */
function debugInfo(token: OpaqueToken | undefined): object {
  if (!token) return { error: { code: 190, message: 'Malformed access token' }, is_valid: false };
  const known = { app_id: token.appId, user_id: numericId(token.subject), expires_at: token.exp };
  if (token.exp > epochSeconds()) return { ...known, is_valid: true };
  const error = { code: 190, message: 'Error validating access token: Session has expired' };
  return { ...known, error, is_valid: false };
}
