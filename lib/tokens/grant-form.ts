import * as v from 'valibot';
import { codeParameters } from '../identities/code-parameters.ts';
import { grantTypes } from '../login-apps/grant-types.ts';
import { providerIds } from '../provider-settings/identifiers.ts';
import { familyOf } from '../providers/providers.ts';
import { choiceProblem, parameters, required } from '../schema/form-parameters.ts';

/** Provider credentials; the other parameters depend on the provider's protocol family. */
const providerCredentialsSchema = v.variant(
  'provider',
  providerIds.map((provider) => familyOf(provider).credentialOf(provider)),
);
const authorizationCodeSchema = v.pipe(
  parameters({ grant_type: v.literal('provider_authorization_code'), ...codeParameters }),
  v.title('AuthorizationCodeGrant'),
);
/** @see RFC 6749 section 6 */
const refreshTokenSchema = v.pipe(
  parameters({ grant_type: v.literal('refresh_token'), refresh_token: required('refresh_token') }),
  v.title('RefreshTokenGrant'),
);
/** @see RFC 6749 section 4.4 */
const clientCredentialsSchema = v.pipe(
  parameters({ grant_type: v.literal('client_credentials') }),
  v.title('ClientCredentialsGrant'),
);

/** The form of a grant: its other parameters depend on `grant_type`, and for provider credentials on `provider`. */
export const grantFormSchema = v.pipe(
  v.variant(
    'grant_type',
    [providerCredentialsSchema, authorizationCodeSchema, refreshTokenSchema, clientCredentialsSchema],
    choiceProblem({ grant_type: grantTypes, provider: providerIds }),
  ),
  v.title('TokenRequest'),
);
