import * as v from 'valibot';
import { readProviderSettings } from '../../login-apps/provider-settings.ts';
import { logIn } from '../../login-users/log-in.ts';
import { providerIds, providersOf } from '../../providers/identifiers.ts';
import { verifyCredentials } from '../../providers/verify-credentials.ts';
import { note } from '../../request-fields.ts';
import { loginUserTokenOf } from '../token-response.ts';
import { forbidden, grant, optional, parameters, required } from './grant.ts';

const oauth2 = v.pipe(
  parameters({
    provider: v.picklist(providersOf('oauth2')),
    access_token: required('access_token'),
    access_secret: forbidden('access_secret', 'for an OAuth 2.0 provider'),
    id_token: forbidden('id_token', 'for an OAuth 2.0 provider'),
  }),
  v.transform(({ provider, access_token }) => ({
    provider,
    credentials: { family: 'oauth2' as const, accessToken: access_token },
  })),
);

const oauth1 = v.pipe(
  parameters({
    provider: v.picklist(providersOf('oauth1')),
    access_token: required('access_token'),
    access_secret: required('access_secret'),
    id_token: forbidden('id_token', 'for the OAuth 1.0 provider'),
  }),
  v.transform(({ provider, access_token, access_secret }) => ({
    provider,
    credentials: { family: 'oauth1' as const, token: access_token, secret: access_secret },
  })),
);

const oidc = v.pipe(
  parameters({
    provider: v.picklist(providersOf('oidc')),
    id_token: required('id_token'),
    access_token: optional('access_token'),
    access_secret: forbidden('access_secret', 'for the OIDC provider'),
  }),
  v.transform(({ provider, id_token, access_token }) => ({
    provider,
    credentials: { family: 'oidc' as const, idToken: id_token, accessToken: access_token },
  })),
);

const schema = v.variant(
  'provider',
  [oauth2, oauth1, oidc],
  providerMessage(`The provider must be one of ${providerIds.join(', ')}.`),
);

/** A Login User Token for a credential that a provider issued. */
export const providerCredentials = grant(schema, async (client, { provider, credentials }) => {
  note({ provider });
  const settings = await readProviderSettings(client.loginApp, provider);
  return loginUserTokenOf(await logIn(client, provider, await verifyCredentials(settings, credentials)));
});

function providerMessage(invalid: string) {
  return ({ input }: { input: unknown }) => {
    if (Array.isArray(input)) return 'The parameter provider is repeated.';
    return input === undefined ? 'The parameter provider is required.' : invalid;
  };
}
