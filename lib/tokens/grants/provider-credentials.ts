import * as v from 'valibot';
import { note } from '../../log.ts';
import { logIn } from '../../login-users/log-in.ts';
import { providerIds } from '../../providers/identifiers.ts';
import { verifyCredentials } from '../../providers/verify-credentials.ts';
import { loginUserTokenOf } from '../token-response.ts';
import { forbidden, grant, optional, parameters, required } from './grant.ts';

const schema = v.variant(
  'provider',
  [
    parameters({
      provider: v.picklist(['provider_a', 'provider_b', 'provider_d', 'provider_e']),
      access_token: required('access_token'),
      access_secret: forbidden('access_secret', 'for an OAuth 2.0 provider'),
      id_token: forbidden('id_token', 'for an OAuth 2.0 provider'),
    }),
    parameters({
      provider: v.literal('provider_c'),
      access_token: required('access_token'),
      access_secret: required('access_secret'),
      id_token: forbidden('id_token', 'for the OAuth 1.0 provider'),
    }),
    parameters({
      provider: v.literal('provider_f'),
      id_token: required('id_token'),
      access_token: optional('access_token'),
      access_secret: forbidden('access_secret', 'for the OIDC provider'),
    }),
  ],
  providerMessage(`The provider must be one of ${providerIds.join(', ')}.`),
);

/** A Login User Token for a credential that a provider issued. */
export const providerCredentials = grant(schema, async (client, { provider, ...credentials }) => {
  note({ provider });
  const subject = await verifyCredentials(client.loginApp, provider, credentials);
  return loginUserTokenOf(await logIn(client, provider, subject));
});

function providerMessage(invalid: string) {
  return ({ input }: { input: unknown }) => {
    if (Array.isArray(input)) return 'The parameter provider is repeated.';
    return input === undefined ? 'The parameter provider is required.' : invalid;
  };
}
