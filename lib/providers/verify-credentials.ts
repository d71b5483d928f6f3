import type { ProviderId } from './identifiers.ts';
import { notSetUp } from './not-set-up.ts';
import { type OAuth1Token, verifyOAuth1 } from './oauth1.ts';
import { verifyOAuth2, verifyOAuth2Code } from './oauth2.ts';
import { type OidcCredential, verifyOidc } from './oidc.ts';
import { parseSettings } from './settings.ts';

/** What a person presents, by the family of the provider that issued it. */
type ProviderCredentials =
  | { family: 'oauth2'; accessToken: string }
  | ({ family: 'oauth1' } & OAuth1Token)
  | ({ family: 'oidc' } & OidcCredential);

/**
 * The provider's subject for a credential that was issued to a Login App.
 * @param settings of the provider for this Login App
 * @throws Refusal when the provider does not accept the credential
 * @throws ProviderFailure when the provider gives no verdict
 */
export function verifyCredentials(settings: object, credentials: ProviderCredentials): Promise<string> {
  switch (credentials.family) {
    case 'oauth2':
      return verifyOAuth2(parseSettings('oauth2', settings), credentials.accessToken);
    case 'oauth1':
      return verifyOAuth1(parseSettings('oauth1', settings), credentials);
    case 'oidc':
      return verifyOidc(parseSettings('oidc', settings), credentials);
  }
}

/** The same for an authorization code. @throws Refusal also when the settings have no exchange of codes */
export async function verifyAuthorizationCode(
  settings: object,
  provider: ProviderId,
  code: string,
): Promise<string> {
  const parsed = parseSettings('oauth2', settings);
  if (!parsed.authorization_code) throw notSetUp(provider);
  return verifyOAuth2Code(parsed, parsed.authorization_code, code);
}
