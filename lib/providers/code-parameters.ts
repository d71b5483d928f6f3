import * as v from 'valibot';
import { optional, required } from '../schema/form-parameters.ts';
import { jsonSchema } from '../schema/json-schema.ts';
import { authorizationCodeProvider } from './provider-ids.ts';

/** @see RFC 7636 section 4.1 */
const codeVerifierSchema = v.pipe(
  required('code_verifier'),
  v.regex(
    /^[\w.~-]{43,128}$/,
    'The code_verifier must be 43 to 128 letters, digits, hyphens, dots, underscores or tildes.',
  ),
  v.description('The PKCE verifier (RFC 7636) of the challenge that the code was requested with.'),
);

/** The parameters of a form with an authorization code of a provider. */
export const codeParameters = {
  provider: v.pipe(
    required('provider'),
    v.literal(authorizationCodeProvider, `The provider must be ${authorizationCodeProvider} for this grant.`),
    jsonSchema({ type: 'string', const: authorizationCodeProvider }),
  ),
  authorization_code: required('authorization_code'),
  code_verifier: v.optional(codeVerifierSchema),
  redirect_uri: v.pipe(
    optional('redirect_uri'),
    v.description('Where the code was sent: one of the provider settings, by default the first.'),
  ),
  nonce: v.pipe(
    optional('nonce'),
    v.description('The nonce of the id token that comes for the code, where that identifies the person.'),
  ),
};
