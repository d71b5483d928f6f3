import { findLoginApp, type LoginApp } from '../login-apps/login-app.ts';
import { Refusal } from '../refusal.ts';
import { verifyAccessToken } from '../tokens/access-token.ts';
import { authentication, bearerToken } from './credentials.ts';

/**
 * Login App Token: a bearer token that stands for the app itself, in the `Authorization` header.
 * It counts as long as the client that it was issued to is one of the Login App's.
 */
export const loginAppToken = authentication<{ loginApp: LoginApp }>(async (headers) => {
  const token = bearerToken(headers.authorization);
  if (!token) throw new Refusal('invalid_token', 'Send a Login App Token as Authorization: Bearer.');
  const claims = await verifyAccessToken(token, 'login_app');
  const isCurrent = (app: LoginApp) => app.clients.has(claims.client_id);
  const loginApp = await findLoginApp(claims.aud, isCurrent);
  if (!loginApp || !isCurrent(loginApp)) {
    throw new Refusal('invalid_token', 'The Login App Token is no longer valid.');
  }
  return { loginApp };
});
