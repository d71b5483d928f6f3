import * as v from 'valibot';
import { codeForm } from '../../providers/oauth2/authorization-code.ts';
import { providerIds } from '../../providers/provider-ids.ts';
import { protocolOf } from '../../providers/providers.ts';
import { choiceProblem, forbidden } from '../../schema/form-parameters.ts';
import { jsonSchema } from '../../schema/json-schema.ts';

/** The parameters of provider credentials, which an authorization code replaces. */
const credentialNames = ['access_token', 'access_secret', 'id_token'];
const withCode = 'with an authorization_code';
const besideCode = `None of ${credentialNames.join(', ')} may be supplied ${withCode}.`;

const credentialForms = providerIds.map((provider) =>
  v.pipe(
    protocolOf(provider).form(
      provider,
      {},
      { authorization_code: forbidden('authorization_code', 'with provider credentials') },
    ),
    v.title(`Provider${provider.slice(-1).toUpperCase()}Identity`),
  ),
);
const credentialFormSchema = v.variant('provider', credentialForms, choiceProblem({ provider: providerIds }));
const codeFormSchema = v.pipe(
  codeForm(
    {},
    {
      access_token: forbidden('access_token', withCode),
      access_secret: forbidden('access_secret', withCode),
      id_token: forbidden('id_token', withCode),
    },
  ),
  v.title('AuthorizationCodeIdentity'),
);

/**
 * The form with a credential of the identity that a person links: the parameters of the grant `provider_credentials`, or
 * those of `provider_authorization_code`, without `grant_type`.
 */
export const identityFormSchema = v.pipe(
  v.looseObject({}, 'The body is not a form.'),
  v.check(
    (form) => !('authorization_code' in form && credentialNames.some((name) => name in form)),
    besideCode,
  ),
  v.check((form) => !('grant_type' in form), 'The parameter grant_type must not be supplied here.'),
  v.lazy((form) => ('authorization_code' in Object(form) ? codeFormSchema : credentialFormSchema)),
  jsonSchema(v.pipe(v.variant('provider', [...credentialForms, codeFormSchema]), v.title('IdentityRequest'))),
);
