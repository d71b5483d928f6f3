import * as v from 'valibot';
import { forbidden, optional, required, sorted } from '../schema/form-parameters.ts';
import { described, jsonSchema } from '../schema/json-schema.ts';
import {
  authorizationCodeProvider,
  type ProtocolName,
  type ProviderId,
  protocolNames,
} from './provider-ids.ts';

const forOAuth1 = 'for the OAuth 1.0 provider';
const forOAuth2 = 'for an OAuth 2.0 provider';

const codeVerifierSchema = v.pipe(
  required('code_verifier'),
  v.regex(
    /^[\w.~-]{43,128}$/,
    'The code_verifier must be 43 to 128 letters, digits, hyphens, dots, underscores or tildes.',
  ),
  v.description('The PKCE verifier (RFC 7636) of the challenge that the code was requested with.'),
);

/** Parameters that say how the app got an authorization code. */
const besideCode = {
  code_verifier: v.optional(codeVerifierSchema),
  redirect_uri: described(
    optional('redirect_uri'),
    'Where the code was sent: one of the provider settings, by default the first.',
  ),
};

/**
 * Parameters of the grant `provider_credentials` besides `grant_type` and `provider`, by protocol.
 */
export const credentialParameters = {
  oauth1: {
    access_token: required('access_token'),
    access_secret: required('access_secret'),
    id_token: forbidden('id_token', forOAuth1),
    nonce: forbidden('nonce', forOAuth1),
  },
  oauth2: {
    access_token: required('access_token'),
    access_secret: forbidden('access_secret', forOAuth2),
    id_token: forbidden('id_token', forOAuth2),
    nonce: forbidden('nonce', forOAuth2),
  },
  oidc: {
    id_token: required('id_token'),
    access_token: optional('access_token'),
    nonce: described(
      optional('nonce'),
      'The nonce of the id token, which may have it literally or as its SHA-256.',
    ),
    authorization_code: described(
      optional('authorization_code'),
      'The code that came with the id token: the service gets a token for it to revoke when the person is deleted. Only for issuers whose settings have `code_exchange`.',
    ),
    ...besideCode,
    user: described(
      optional('user'),
      'A JSON object of at most 2,048 bytes with claims about the person that the app sends, as Apple gives it at the first login. Only for issuers whose settings have `user_profile`. Anything else is left out.',
    ),
    access_secret: forbidden('access_secret', 'for the OIDC provider'),
  },
} satisfies Record<ProtocolName, v.ObjectEntries>;

export const parametersOf = (provider: ProviderId) =>
  sorted(credentialParameters[protocolNames[provider]]);

export const codeParameters = {
  provider: v.pipe(
    required('provider'),
    v.literal(
      authorizationCodeProvider,
      `The provider must be ${authorizationCodeProvider} for this grant.`,
    ),
    jsonSchema({ type: 'string', const: authorizationCodeProvider }),
  ),
  authorization_code: required('authorization_code'),
  ...besideCode,
  nonce: described(
    optional('nonce'),
    'The nonce of the id token that comes for the code, where that identifies the person.',
  ),
};
