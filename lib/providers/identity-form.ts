import * as v from 'valibot';
import { annotateLog } from '../log/request-fields.ts';
import { choiceProblem, forbidden, parameters } from '../schema/form-parameters.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import { codeParameters } from './code-parameters.ts';
import { personOfCode, personOfCredential } from './proven-person.ts';
import { providerIds } from './provider-ids.ts';
import { familyOf } from './providers.ts';

/** The parameters of provider credentials, which an authorization code replaces. */
const credentialParameters = ['access_token', 'access_secret', 'id_token'];
const besideCode = `None of ${credentialParameters.join(', ')} may be supplied with an authorization_code.`;

const credentialForms = providerIds.map((provider) => familyOf(provider).identityOf(provider));
const credentialFormSchema = v.variant('provider', credentialForms, choiceProblem({ provider: providerIds }));
const codeFormSchema = v.pipe(
  parameters({
    ...codeParameters,
    ...Object.fromEntries(
      credentialParameters.map((name) => [name, forbidden(name, 'with an authorization_code')]),
    ),
  }),
  v.title('AuthorizationCodeIdentity'),
);

/**
 * The form that proves an identity which a person links: the parameters of the grant `provider_credentials`, or those of
 * `provider_authorization_code`, without `grant_type`.
 */
export const identityFormSchema = v.pipe(
  v.looseObject({}, 'The body is not a form.'),
  v.check(
    (form) => !('authorization_code' in form && credentialParameters.some((name) => name in form)),
    besideCode,
  ),
  v.check((form) => !('grant_type' in form), 'The parameter grant_type must not be supplied here.'),
  v.lazy((form) => ('authorization_code' in Object(form) ? codeFormSchema : credentialFormSchema)),
  jsonSchema(v.pipe(v.variant('provider', [...credentialForms, codeFormSchema]), v.title('IdentityRequest'))),
);

/** The person whom a form proves to be. @throws ServiceError, ProviderFailure */
export async function personOf(loginAppId: string, form: v.InferOutput<typeof identityFormSchema>) {
  annotateLog({ provider: form.provider });
  return 'family' in form ? personOfCredential(loginAppId, form) : personOfCode(loginAppId, form);
}
