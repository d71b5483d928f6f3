import * as v from 'valibot';
import { note } from '../../log/request-fields.ts';
import type { ProvenIdentity } from '../../login-users/identity.ts';
import { providerIds } from '../../provider-settings/identifiers.ts';
import { providers } from '../../providers/providers.ts';
import { forbidden, parameters } from '../../schema/form-parameters.ts';
import { wire } from '../../schema/wire.ts';
import { codeParameters, personOfCode, providerAuthorizationCode } from './code-request.ts';
import { personOfCredentials, providerCredentials } from './credentials-request.ts';
import { discriminatorProblem } from './discriminator.ts';

/** The parameters of provider credentials, which an authorization code replaces. */
const credentialParameters = ['access_token', 'access_secret', 'id_token'];
const besideCode = `None of ${credentialParameters.join(', ')} may be supplied with an authorization_code.`;

/** Which grant takes the parameters of a form. */
const grantTypeOf = (form: object): string =>
  'authorization_code' in form ? 'provider_authorization_code' : 'provider_credentials';

const without = (names: string[]) =>
  Object.fromEntries(names.map((name) => [name, forbidden(name, 'with the other credential')]));

/** The form as clients send it: that of either grant, without `grant_type`. */
const sentForm = v.pipe(
  v.variant('provider', [
    ...providerIds.map((provider) =>
      v.pipe(
        parameters({
          provider: v.literal(provider),
          ...providers[provider].parameters,
          ...without(['authorization_code', 'code_verifier', 'redirect_uri']),
        }),
        v.title(`Provider${provider.slice(-1).toUpperCase()}Identity`),
      ),
    ),
    v.pipe(
      parameters({ ...codeParameters, ...without(credentialParameters) }),
      v.title('AuthorizationCodeIdentity'),
    ),
  ]),
  v.title('IdentityRequest'),
);

/**
 * What proves an identity that a person links: the parameters of the grant `provider_credentials`, or those of
 * `provider_authorization_code`, without `grant_type`.
 */
export const identityRequest = v.pipe(
  v.looseObject({}, 'The body is not a form.'),
  v.check(
    (form) => !('authorization_code' in form && credentialParameters.some((name) => name in form)),
    besideCode,
  ),
  v.check((form) => !('grant_type' in form), 'The parameter grant_type must not be supplied here.'),
  v.transform((form) => ({ ...form, grant_type: grantTypeOf(form) })),
  v.variant('grant_type', [providerCredentials, providerAuthorizationCode], discriminatorProblem),
  wire(sentForm),
);
export type IdentityRequest = v.InferOutput<typeof identityRequest>;

/** Whom the request proves to be. @throws ServiceError, ProviderFailure */
export async function personOf(loginAppId: string, request: IdentityRequest): Promise<ProvenIdentity> {
  note({ provider: request.provider });
  return request.grant_type === 'provider_credentials'
    ? personOfCredentials(loginAppId, request)
    : personOfCode(loginAppId, request);
}
