import { findLoginApp, type LoginApp } from '../login-apps/login-app.ts';
import { Refusal } from '../refusal.ts';
import { type ProviderId, providerFamilies } from './identifiers.ts';
import { verifyOAuth1 } from './oauth1.ts';
import { verifyOAuth2, verifyOAuth2Code } from './oauth2.ts';
import { verifyOidc } from './oidc.ts';
import { parseSettings } from './settings.ts';
import { decryptSecrets } from './settings-encryption.ts';

/** A credential, by the names of the request's parameters. */
export interface ProviderCredentials {
  access_token?: string | undefined;
  access_secret?: string | undefined;
  id_token?: string | undefined;
}

/**
 * The provider's subject for a credential that was issued to this Login App.
 * @throws Refusal when the provider is not set up or does not accept the credential
 * @throws ProviderFailure when the provider gives no verdict
 */
export async function verifyCredentials(
  loginApp: LoginApp,
  provider: ProviderId,
  { access_token = '', access_secret = '', id_token = '' }: ProviderCredentials,
): Promise<string> {
  const settings = await settingsOf(loginApp, provider);
  switch (providerFamilies[provider]) {
    case 'oauth2':
      return verifyOAuth2(parseSettings('oauth2', settings), access_token);
    case 'oauth1':
      return verifyOAuth1(parseSettings('oauth1', settings), {
        token: access_token,
        secret: access_secret,
      });
    case 'oidc':
      return verifyOidc(parseSettings('oidc', settings), {
        idToken: id_token,
        accessToken: access_token || undefined,
      });
  }
}

/** The same for an authorization code. */
export async function verifyAuthorizationCode(
  loginApp: LoginApp,
  provider: ProviderId,
  code: string,
): Promise<string> {
  const settings = parseSettings('oauth2', await settingsOf(loginApp, provider));
  if (!settings.authorization_code) throw notSetUp(provider);
  return verifyOAuth2Code(settings, settings.authorization_code, code);
}

async function settingsOf({ login_app_id }: LoginApp, provider: ProviderId): Promise<object> {
  const loginApp = await findLoginApp(login_app_id, (app) => app.providers.has(provider));
  const stored = loginApp?.providers.get(provider);
  if (!stored) throw notSetUp(provider);
  return decryptSecrets(stored, { loginAppId: login_app_id, provider });
}

const notSetUp = (provider: ProviderId): Refusal =>
  new Refusal('invalid_request', `The provider ${provider} is not set up for this Login App.`);
