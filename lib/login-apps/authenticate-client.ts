import { matchesAny } from '../secrets.ts';
import { findLoginApp, type LoginApp } from './login-app.ts';

/** A Login App Client that has proven itself, and its Login App. */
export interface AuthenticatedClient {
  clientId: string;
  loginApp: LoginApp;
}

/** The client of a client id and secret; undefined when there is none or the secret is another. */
export async function authenticateClient(
  clientId: string,
  clientSecret: string,
): Promise<AuthenticatedClient | undefined> {
  const isClient = (app: LoginApp) => matchesAny(clientSecret, app.clients.get(clientId)?.secrets ?? []);
  const loginApp = await findLoginApp(loginAppIdOf(clientId), isClient);
  return loginApp && isClient(loginApp) ? { clientId, loginApp } : undefined;
}

/** A client id begins with the id of its Login App: `la_….c_…` */
const loginAppIdOf = (clientId: string): string => clientId.split('.')[0] ?? '';
