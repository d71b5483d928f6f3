import * as v from 'valibot';
import { audiences, fieldPath, providerUrl, text } from '../settings-fields.ts';

const errorCodes = v.array(text, 'must be a list of error codes');
const statuses = v.array(v.pipe(v.number(), v.integer()), 'must be a list of HTTP statuses');

const userInfo = v.strictObject({
  url: providerUrl,
  /** Where the answer has the person's id. */
  subject_field: v.optional(fieldPath, 'sub'),
  /** The JSON type of that id; the other one is refused, so that 7 and "7" are never one person. */
  subject_type: v.optional(v.picklist(['string', 'integer'], 'must be string or integer'), 'string'),
});

/** Token introspection. @see RFC 7662 */
const introspection = v.strictObject({
  method: v.literal('introspection'),
  url: providerUrl,
  client_id: text,
  client_secret: text,
  audiences,
});

/** The provider's own token-info endpoint. */
const tokenInfo = v.strictObject({
  method: v.literal('token_info'),
  url: providerUrl,
  /** The query parameter that carries the token. */
  token_parameter: v.optional(text, 'access_token'),
  /** The query parameter that carries our app's own credential, where the provider wants one. */
  app_token_parameter: v.optional(text),
  app_token_secret: v.optional(text),
  /** How the token is sent: in the query of a GET, or in the JSON body of a POST. */
  send_token_as: v.optional(v.picklist(['query', 'json'], 'must be query or json'), 'query'),
  /** Our app's credentials for HTTP Basic, where the provider wants them. */
  client_id: v.optional(text),
  client_secret: v.optional(text),
  /** The statuses that say no to the token; all others but 200 say nothing about it. @default 400 and 401, without an app credential */
  refused_statuses: v.optional(statuses),
  /** Where an error answer has its code, and the codes that say no to the token. */
  error_field: v.optional(fieldPath, 'error'),
  refused_errors: v.optional(errorCodes, []),
  /** Where the answer has the app id that the token was issued to. */
  audience_field: fieldPath,
  /** Where the answer says true for a valid token, where it does. */
  valid_field: v.optional(fieldPath),
  /** Where the answer has the person's id, where it does; it must be the user info's. */
  subject_field: v.optional(fieldPath),
  audiences,
});

const authorizationCode = v.strictObject({
  token_url: providerUrl,
  client_id: text,
  client_secret: text,
  redirect_uri: text,
  /** Where our credentials go (RFC 6749 section 2.3.1). */
  client_authentication: v.optional(v.picklist(['basic', 'form'], 'must be basic or form'), 'basic'),
  /** Where an error answer has its code, and the codes that say no to the code that was sent. */
  error_field: v.optional(fieldPath, 'error'),
  refused_errors: v.optional(errorCodes, ['invalid_grant']),
});

export const oauth2Settings = v.strictObject({
  user_info: userInfo,
  audience_validation: v.variant(
    'method',
    [introspection, tokenInfo],
    'must say by which method (introspection or token_info) a token of another app is told from ours',
  ),
  authorization_code: v.optional(authorizationCode),
});

export type OAuth2Settings = v.InferOutput<typeof oauth2Settings>;
export type CodeExchange = v.InferOutput<typeof authorizationCode>;
export type TokenInfo = v.InferOutput<typeof tokenInfo>;
export type Introspection = v.InferOutput<typeof introspection>;
