import * as v from 'valibot';
import { ServiceError } from '../../foundation/service-error.ts';
import { codeParameters } from '../../providers/parameters.ts';
import { providerIds } from '../../providers/provider-ids.ts';
import { protocolOf, verifyCredential } from '../../providers/providers.ts';
import { choiceProblem, forbidden, parameters } from '../../schema/form-parameters.ts';
import { jsonSchema } from '../../schema/json-schema.ts';

const withCode = 'with an authorization_code';

const credentialForms = providerIds.map((provider) =>
  v.pipe(
    protocolOf(provider).form(
      provider,
      // The parameters of id tokens, which come later, have a code of their own.
      { authorization_code: forbidden('authorization_code', 'with provider credentials') },
      {},
    ),
    v.title(`Provider${provider.slice(-1).toUpperCase()}Identity`),
  ),
);
const credentialFormSchema = v.variant('provider', credentialForms, choiceProblem({ provider: providerIds }));
const codeFormSchema = v.pipe(
  parameters({
    ...codeParameters,
    access_token: forbidden('access_token', withCode),
    access_secret: forbidden('access_secret', withCode),
    id_token: forbidden('id_token', withCode),
  }),
  v.title('AuthorizationCodeIdentity'),
);

const isCodeAlone = (form: object): boolean =>
  'authorization_code' in form &&
  !('id_token' in form && 'provider' in form && form.provider === 'provider_f');

/** The form with a credential of the identity that a person links: the parameters of a grant, without `grant_type`. */
export const identityFormSchema = v.pipe(
  v.looseObject({}, 'The body is not a form.'),
  v.check((form) => !('grant_type' in form), 'The parameter grant_type must not be supplied here.'),
  v.lazy((form) => (isCodeAlone(Object(form)) ? codeFormSchema : credentialFormSchema)),
  jsonSchema(v.pipe(v.variant('provider', [...credentialForms, codeFormSchema]), v.title('IdentityRequest'))),
);

/**
 * The person of a credential that is linked. A code beside an id token is not ignored: where the settings of the issuer don't
 * say how it is exchanged, it is an error. @throws ServiceError, ProviderFailure
 */
export const verifyLinked: typeof verifyCredential = async (caller, credential) => {
  const { id_token, authorization_code } = credential;
  const identity = await verifyCredential(caller, credential);
  if (!identity.code && id_token !== undefined && authorization_code !== undefined)
    throw new ServiceError('invalid_request', `The parameter id_token must not be supplied ${withCode}.`);
  return identity;
};
