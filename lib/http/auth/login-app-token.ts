import type { LogReason } from '../../foundation/reasons.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { annotateLog } from '../../log/request-fields.ts';
import { findCurrentClient } from '../../login-apps/clients.ts';
import { authenticateLoginAppToken, isLongLived } from '../../login-apps/login-app-tokens.ts';
import { findStatus } from '../../login-apps/status.ts';
import { readAccessTokenFor } from '../../tokens/access-token.ts';
import type { Authentication } from '../endpoint.ts';
import { requiredBearerToken } from './credentials.ts';

const invalidToken = 'The token is not a valid Login App Token.';

/** Authentication of a Login App by a token of one of its clients, or a long-lived one. */
export const loginAppToken: Authentication<{ loginAppId: string }> = {
  scheme: 'login_app_token',
  error: {
    code: 'invalid_token',
    when: 'The Login App Token is missing, expired, revoked or of another kind, or its Login App is disabled.',
    example: invalidToken,
  },
  table: { login_apps: ['GetItem'], signing_keys: ['GetItem'] },
  identify: async (headers) => {
    const token = requiredBearerToken('Login App Token', [headers.authorization]);
    const loginAppId = await (isLongLived(token)
      ? authenticateLoginAppToken(token)
      : loginAppOfClientsToken(token));
    if (!loginAppId) throw noLongerValid(isLongLived(token) ? 'secret_wrong' : 'id_unknown');
    annotateLog({ login_app_id: loginAppId });
    if (!(await findStatus(loginAppId)).isEnabled) throw noLongerValid('login_app_disabled');
    return { loginAppId };
  },
};

/** The id of the Login App; undefined once the client is revoked. */
async function loginAppOfClientsToken(token: string): Promise<string | undefined> {
  const { claims, reason } = await readAccessTokenFor('login_app', token);
  if (!claims) throw new ServiceError('invalid_token', invalidToken, reason);
  annotateLog({ client_id: claims.client_id });
  return (await findCurrentClient(claims.client_id)) ? claims.aud : undefined;
}

const noLongerValid = (reason: LogReason): ServiceError =>
  new ServiceError('invalid_token', 'The Login App Token is no longer valid.', reason);
