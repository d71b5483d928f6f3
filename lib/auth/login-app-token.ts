import { findLoginApp, type LoginApp } from '../login-apps/login-app.ts';
import { authenticateLoginAppToken, isLongLived } from '../login-apps/login-app-tokens.ts';
import { Refusal } from '../refusal.ts';
import { note } from '../request-fields.ts';
import { verifyLoginAppToken } from '../tokens/verify-access-token.ts';
import { type Authentication, bearerToken } from './credentials.ts';

/**
 * Login App Token: a bearer token that stands for the app itself, in the `Authorization` header. One that was
 * issued to a client is valid while the Login App has that client, a long-lived one until it is revoked.
 */
export const loginAppToken: Authentication<{ loginApp: LoginApp }> = {
  scheme: 'login_app_token',
  error: {
    code: 'invalid_token',
    when: 'The Login App Token is missing, expired, revoked or of another kind.',
    example: 'The token is not a valid Login App Token.',
  },
  identify: async (headers) => {
    const token = bearerToken(headers.authorization);
    if (!token) throw new Refusal('invalid_token', 'Send a Login App Token as Authorization: Bearer.');
    const loginApp = await (isLongLived(token)
      ? authenticateLoginAppToken(token)
      : loginAppOfClientsToken(token));
    if (!loginApp) throw new Refusal('invalid_token', 'The Login App Token is no longer valid.');
    note({ login_app_id: loginApp.login_app_id });
    return { loginApp };
  },
};

async function loginAppOfClientsToken(token: string): Promise<LoginApp | undefined> {
  const { aud, client_id } = await verifyLoginAppToken(token);
  const isCurrent = (app: LoginApp) => app.clients.has(client_id);
  const loginApp = await findLoginApp(aud, isCurrent);
  return loginApp && isCurrent(loginApp) ? loginApp : undefined;
}
