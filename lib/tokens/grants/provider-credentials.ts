import * as v from 'valibot';
import { providerIds } from '../../providers/provider-ids.ts';
import { protocolOf } from '../../providers/providers.ts';
import { grantForm } from '../grant-form.ts';
import { startSession } from '../start-session.ts';

const grant_type = v.literal('provider_credentials');

/** A credential that a provider issued to the app: the other parameters depend on the provider's protocol. */
export const providerCredentials = v.variant(
  'provider',
  providerIds.map((provider) => {
    const form = protocolOf(provider).form(provider, { grant_type }, {});
    const title = `Provider${provider.slice(-1).toUpperCase()}Credentials`;
    return grantForm(v.pipe(form, v.title(title)), 'login_user', startSession);
  }),
);
