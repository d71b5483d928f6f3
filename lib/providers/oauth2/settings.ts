import * as v from 'valibot';
import { audiences, described, fieldPath, providerUrl, text } from '../settings-fields.ts';

const errorCodes = v.array(text, 'must be a list of error codes');
const statuses = v.array(v.pipe(v.number(), v.integer()), 'must be a list of HTTP statuses');

const userInfo = v.strictObject({
  url: described(providerUrl, 'is called with the access token as bearer token'),
  subject_field: described(v.optional(fieldPath, 'sub'), "where the answer has the person's id"),
  // The other type is rejected, so that 7 and "7" are never one person.
  subject_type: described(
    v.optional(v.picklist(['string', 'integer'], 'must be string or integer'), 'string'),
    '`string`, or `integer` for providers that number people',
  ),
});

/** @see RFC 7662 */
const introspection = v.strictObject({
  method: described(v.literal('introspection'), '`introspection`: token introspection by RFC 7662'),
  url: described(providerUrl, 'the introspection endpoint'),
  client_id: described(text, 'your credentials for HTTP Basic'),
  client_secret: described(text, 'its secret'),
  audiences,
});

const tokenInfo = v.strictObject({
  method: described(v.literal('token_info'), "`token_info`: an endpoint of the provider's own"),
  url: described(providerUrl, 'the token-info endpoint'),
  token_parameter: described(v.optional(text, 'access_token'), 'the parameter that carries the token'),
  send_token_as: described(
    v.optional(v.picklist(['query', 'json'], 'must be query or json'), 'query'),
    '`query` of a GET, or `json` body of a POST',
  ),
  app_token_parameter: described(v.optional(text), 'a query parameter that carries a token of your app'),
  app_token_secret: described(v.optional(text), 'that token'),
  client_id: described(v.optional(text), 'your credentials for HTTP Basic, where the provider wants them'),
  client_secret: described(v.optional(text), 'its secret'),
  audience_field: described(
    fieldPath,
    'where the answer has the app id that the token was issued to (text, or a list)',
  ),
  valid_field: described(v.optional(fieldPath), 'where it says `true` for a valid token'),
  subject_field: described(
    v.optional(fieldPath),
    "where it has the person's id, which must be the user info's",
  ),
  refused_statuses: described(
    v.optional(statuses),
    'the statuses that reject the token; when left out 400 and 401, or none if credentials of your app are sent',
  ),
  error_field: described(v.optional(fieldPath, 'error'), 'where an error answer has its code'),
  refused_errors: described(v.optional(errorCodes, []), 'a list of the codes that reject the token'),
  audiences,
});

const authorizationCode = v.strictObject({
  token_url: described(providerUrl, 'the token endpoint'),
  client_id: described(text, 'your client id there'),
  client_secret: described(text, 'its secret'),
  redirect_uri: described(text, 'as registered at the provider'),
  client_authentication: described(
    v.optional(v.picklist(['basic', 'form'], 'must be basic or form'), 'basic'),
    '`basic` or `form` (RFC 6749, section 2.3.1)',
  ),
  error_field: described(v.optional(fieldPath, 'error'), 'where an error answer has its code'),
  refused_errors: described(
    v.optional(errorCodes, ['invalid_grant']),
    'a list of the codes that reject the authorization code',
  ),
});

/** What an operator sets for an OAuth 2.0 provider. Audience validation is mandatory. */
export const oauth2Settings = v.strictObject({
  user_info: userInfo,
  audience_validation: v.variant(
    'method',
    [introspection, tokenInfo],
    'must say by which method (introspection or token_info) the audience of a token is validated',
  ),
  authorization_code: v.optional(authorizationCode),
});

export type OAuth2Settings = v.InferOutput<typeof oauth2Settings>;
export type CodeExchange = v.InferOutput<typeof authorizationCode>;
export type TokenInfo = v.InferOutput<typeof tokenInfo>;
export type Introspection = v.InferOutput<typeof introspection>;
