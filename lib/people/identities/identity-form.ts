import * as v from 'valibot';
import { ServiceError } from '../../foundation/service-error.ts';
import { codeForm } from '../../providers/oauth2/protocol.ts';
import type { Credential } from '../../providers/protocol.ts';
import { providerIds } from '../../providers/provider-ids.ts';
import { protocolOf } from '../../providers/providers.ts';
import type { StoredSettings } from '../../providers/settings/encryption.ts';
import { choiceProblem, forbidden } from '../../schema/form-parameters.ts';
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

/** A credential whose code is not ignored: where the settings of an issuer don't say how it is exchanged, it is an error. */
const withoutIgnoredCode = <Form extends Credential>(form: Form) => ({
  ...form,
  verify: async (stored: StoredSettings) => {
    const identity = await form.verify(stored);
    if (identity && !identity.code && form.id_token !== undefined && form.authorization_code !== undefined)
      throw new ServiceError('invalid_request', `The parameter id_token must not be supplied ${withCode}.`);
    return identity;
  },
});

const isCodeAlone = (form: object): boolean =>
  'authorization_code' in form &&
  !('id_token' in form && 'provider' in form && form.provider === 'provider_f');

/** The form with a credential of the identity that a person links: the parameters of a grant, without `grant_type`. */
export const identityFormSchema = v.pipe(
  v.looseObject({}, 'The body is not a form.'),
  v.check((form) => !('grant_type' in form), 'The parameter grant_type must not be supplied here.'),
  v.lazy((form) => (isCodeAlone(Object(form)) ? codeFormSchema : credentialFormSchema)),
  jsonSchema(v.pipe(v.variant('provider', [...credentialForms, codeFormSchema]), v.title('IdentityRequest'))),
  v.transform(withoutIgnoredCode),
);
