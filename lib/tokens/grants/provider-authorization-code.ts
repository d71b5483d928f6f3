import * as v from 'valibot';
import { parameters, required } from '../../form-parameters.ts';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { findProviderSettings } from '../../login-apps/provider-settings.ts';
import { logIn } from '../../login-users/log-in.ts';
import { authorizationCodeProvider } from '../../providers/identifiers.ts';
import { notSetUp } from '../../providers/not-set-up.ts';
import { verifyAuthorizationCode } from '../../providers/oauth2/verify.ts';
import { providers } from '../../providers/providers.ts';
import { wire } from '../../wire.ts';
import { loginUserTokenOf, type TokenResponse } from '../token-response.ts';

export const providerAuthorizationCode = v.pipe(
  parameters({
    grant_type: v.literal('provider_authorization_code'),
    provider: v.pipe(
      required('provider'),
      v.literal(
        authorizationCodeProvider,
        `The provider must be ${authorizationCodeProvider} for this grant.`,
      ),
      wire({ type: 'string', const: authorizationCodeProvider }),
    ),
    authorization_code: required('authorization_code'),
  }),
  v.title('AuthorizationCodeGrant'),
);

/** Issues a Login User Token for an authorization code of a provider. @throws Refusal, ProviderFailure */
export async function issueForAuthorizationCode(
  client: AuthenticatedClient,
  { provider, authorization_code }: v.InferOutput<typeof providerAuthorizationCode>,
): Promise<TokenResponse> {
  const stored = await findProviderSettings(client.loginAppId, provider);
  const settings = stored && (await providers[provider].read(stored));
  if (!settings?.authorization_code) throw notSetUp(provider);
  const subject = await verifyAuthorizationCode(settings, settings.authorization_code, authorization_code);
  return loginUserTokenOf(await logIn(client, provider, subject));
}
