import * as v from 'valibot';
import { providerIds } from '../../providers/provider-ids.ts';
import { protocolOf } from '../../providers/providers.ts';
import { grant } from '../grant.ts';
import { startSession } from '../start-session.ts';

const grant_type = 'provider_credentials';

/** A credential that a provider issued to the app: the other parameters depend on the provider's protocol. */
export const providerCredentials = grant({
  grant_type,
  token_use: 'login_user',
  schema: v.variant(
    'provider',
    providerIds.map((provider) =>
      v.pipe(
        protocolOf(provider).form(provider, { grant_type: v.literal(grant_type) }, {}),
        v.title(`Provider${provider.slice(-1).toUpperCase()}Credentials`),
      ),
    ),
  ),
  issue: startSession,
});
