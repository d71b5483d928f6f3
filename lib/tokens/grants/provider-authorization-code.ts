import * as v from 'valibot';
import { readProviderSettings } from '../../login-apps/provider-settings.ts';
import { logIn } from '../../login-users/log-in.ts';
import { authorizationCodeProvider } from '../../providers/identifiers.ts';
import { verifyAuthorizationCode } from '../../providers/verify-credentials.ts';
import { note } from '../../request-fields.ts';
import { loginUserTokenOf } from '../token-response.ts';
import { grant, parameters, required } from './grant.ts';

const schema = parameters({
  provider: v.pipe(
    required('provider'),
    v.literal(authorizationCodeProvider, `The provider must be ${authorizationCodeProvider} for this grant.`),
  ),
  authorization_code: required('authorization_code'),
});

/** A Login User Token for an authorization code that a provider issued. */
export const providerAuthorizationCode = grant(schema, async (client, { provider, authorization_code }) => {
  note({ provider });
  const settings = await readProviderSettings(client.loginApp, provider);
  const subject = await verifyAuthorizationCode(settings, provider, authorization_code);
  return loginUserTokenOf(await logIn(client, provider, subject));
});
