import * as v from 'valibot';
import { described } from '../../schema/json-schema.ts';
import { clientSecretJwtSchema } from '../client-secret.ts';
import { issuerEntries, issuerOf, notificationEntries } from '../oidc/issuer.ts';
import {
  audiences,
  authorityIn,
  fieldPathSchema,
  profile,
  providerUrlSchema,
  textSchema,
  valueAtPath,
} from '../settings/fields.ts';

const errorCodesSchema = v.array(textSchema, 'must be a list of error codes');
const statusesSchema = v.array(v.pipe(v.number(), v.integer()), 'must be a list of HTTP statuses');

const userInfoSchema = v.strictObject({
  url: described(providerUrlSchema, 'is called with the access token as bearer token'),
  subject_field: described(v.optional(fieldPathSchema, 'sub'), "where the answer has the person's id"),
  // The other type is rejected, so that 7 and "7" are never one person.
  subject_type: described(
    v.optional(v.picklist(['string', 'integer'], 'must be string or integer'), 'string'),
    '`string`, or `integer` for providers that number people',
  ),
  profile,
});

const introspectionSchema = v.strictObject({
  method: described(v.literal('introspection'), '`introspection`: token introspection by RFC 7662'),
  url: described(providerUrlSchema, 'the introspection endpoint'),
  client_id: described(textSchema, 'your credentials for HTTP Basic'),
  client_secret: described(textSchema, 'its secret'),
  audiences,
});

const tokenInfoSchema = v.strictObject({
  method: described(v.literal('token_info'), "`token_info`: an endpoint of the provider's own"),
  url: described(providerUrlSchema, 'the token-info endpoint'),
  token_parameter: described(v.optional(textSchema, 'access_token'), 'the parameter that carries the token'),
  send_token_as: described(
    v.optional(v.picklist(['query', 'json', 'bearer'], 'must be query, json or bearer'), 'query'),
    '`query` of a GET, `json` body of a POST, or `bearer` token of a GET',
  ),
  app_token_parameter: described(
    v.optional(textSchema),
    'a query parameter that carries a token of your app',
  ),
  app_token_secret: described(v.optional(textSchema), 'that token'),
  client_id: described(
    v.optional(textSchema),
    'your credentials for HTTP Basic, where the provider wants them',
  ),
  client_secret: described(v.optional(textSchema), 'its secret'),
  audience_field: described(
    fieldPathSchema,
    'where the answer has the app id that the token was issued to (text; under the name `aud` also a list)',
  ),
  valid_field: described(v.optional(fieldPathSchema), 'where it says `true` for a valid token'),
  subject_field: described(
    v.optional(fieldPathSchema),
    "where it has the person's id, which must be the user info's",
  ),
  refused_statuses: described(
    v.optional(statusesSchema),
    'the statuses that reject the token; when left out 400 and 401, or none if credentials of your app are sent',
  ),
  error_field: described(v.optional(fieldPathSchema, 'error'), 'where an error answer has its code'),
  refused_errors: described(v.optional(errorCodesSchema, []), 'a list of the codes that reject the token'),
  audiences,
});

const jwtSchema = v.strictObject({
  method: described(
    v.literal('jwt'),
    "`jwt`: the access token is a JWT, verified with its issuer's keys instead of a call",
  ),
  issuer: issuerOf('access tokens'),
  jwks_uri: issuerEntries.jwks_uri,
  audience_field: described(
    v.optional(fieldPathSchema, 'aud'),
    'where the token has the app id that it was issued to, for providers whose access tokens have no `aud`',
  ),
  audiences: described(
    audiences,
    'a list of your app ids there and, where another name stands in `aud`, the name of your API',
  ),
});

const audienceValidationSchema = v.variant(
  'method',
  [introspectionSchema, tokenInfoSchema, jwtSchema],
  'must say by which method (introspection, token_info or jwt) the audience of a token is validated',
);

const exchangeEntries = {
  token_url: described(providerUrlSchema, 'the token endpoint'),
  client_id: described(textSchema, 'your client id there'),
  client_secret: described(
    v.optional(textSchema),
    'its secret; required unless there is a `client_secret_jwt`',
  ),
  client_secret_jwt: v.optional(clientSecretJwtSchema),
  redirect_uris: described(
    v.optional(
      v.pipe(
        v.array(textSchema, 'must be a list of redirect URIs'),
        v.maxLength(20, 'must name at most 20 redirect URIs'),
      ),
      [],
    ),
    'a list, as registered at the provider. A login may name one of them; otherwise the first is sent, or none',
  ),
  client_authentication: described(
    v.optional(v.picklist(['basic', 'form'], 'must be basic or form'), 'basic'),
    '`basic` or `form` (RFC 6749, section 2.3.1)',
  ),
  error_field: described(v.optional(fieldPathSchema, 'error'), 'where an error answer has its code'),
  refused_errors: described(
    v.optional(errorCodesSchema, ['invalid_grant']),
    'a list of the codes that reject the authorization code',
  ),
};

/** The message for an exchange without exactly one secret of our app: a text, or a key that signs it. */
const problemOfSecrets = ({ input }: v.BaseIssue<unknown>): string =>
  valueAtPath(input, 'client_secret') ? 'must not stand beside client_secret_jwt' : 'is missing';

const hasOneSecret = (exchange: {
  client_secret?: string | undefined;
  client_secret_jwt?: object | undefined;
}) => (exchange.client_secret === undefined) !== (exchange.client_secret_jwt === undefined);

const authorizationCodeSchema = v.pipe(
  v.strictObject({
    ...exchangeEntries,
    revocation_url: described(
      v.optional(providerUrlSchema),
      "the revocation endpoint (RFC 7009). With it, the service keeps the provider's refresh token, encrypted, and revokes it when the person is deleted",
    ),
    id_token: v.optional(v.strictObject(issuerEntries)),
  }),
  v.forward(
    v.check((exchange) => hasOneSecret(exchange), problemOfSecrets),
    ['client_secret'],
  ),
);

/** The exchange of a code that comes along with an id token: all that it is for is a token to revoke. */
export const issuerExchangeSchema = v.pipe(
  v.strictObject({
    ...exchangeEntries,
    revocation_url: described(
      providerUrlSchema,
      "the revocation endpoint (RFC 7009), where the provider's refresh token is revoked when the person is deleted",
    ),
  }),
  v.forward(
    v.check((exchange) => hasOneSecret(exchange), problemOfSecrets),
    ['client_secret'],
  ),
);

const notificationsSchema = v.strictObject({
  app_secret: described(textSchema, 'for Facebook: the secret of your app, by which its requests are signed'),
  on_unlinked: notificationEntries.on_unlinked,
  data_deletion_url: described(
    v.optional(providerUrlSchema),
    'your page about deletions: Facebook shows its address, with a `confirmation_code`, to a person who wanted their data deleted. Without it, such requests are rejected',
  ),
});

/**
 * Settings of an OAuth 2.0 provider. The audience of every credential is validated: of an access token by asking the
 * provider, or by its issuer's signature; of a code by the id token that comes for it, or as for an access token, or by
 * its exchange alone, since a provider gives tokens for it only to the client that it was issued to.
 * @see RFC 6749, section 4.1.3
 */
export const oauth2SettingsSchema = v.pipe(
  v.strictObject({
    namespace: described(
      v.optional(textSchema),
      'identifies who vouches for the people. Defaults to the previous value or, for a new provider, the host of `user_info.url`, or the issuer if only JWTs say who a person is',
    ),
    user_info: v.optional(userInfoSchema),
    audience_validation: v.optional(audienceValidationSchema),
    authorization_code: v.optional(authorizationCodeSchema),
    notifications: v.optional(notificationsSchema),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { user_info, audience_validation, authorization_code } = dataset.value;
    if (authorization_code?.id_token && !user_info && !audience_validation) return;
    const isForCodesAlone = authorization_code && !authorization_code.id_token && !audience_validation;
    for (const key of isForCodesAlone ? (['user_info'] as const) : accessTokenKeys) {
      // The subject of a JWT is in the JWT.
      if (key === 'user_info' && audience_validation?.method === 'jwt') continue;
      const value = dataset.value[key];
      const place = { type: 'object', origin: 'value', input: { ...dataset.value }, key, value } as const;
      if (!value) addIssue({ message: 'is missing', path: [place] });
    }
  }),
  v.transform((settings) => ({
    ...settings,
    namespace: settings.namespace ?? authorityIn(settings)?.namespace,
  })),
);

const accessTokenKeys = ['user_info', 'audience_validation'] as const;

export type OAuth2Settings = v.InferOutput<typeof oauth2SettingsSchema>;
export type CodeExchange = v.InferOutput<typeof authorizationCodeSchema>;
export type UserInfo = v.InferOutput<typeof userInfoSchema>;
export type AudienceValidation = v.InferOutput<typeof audienceValidationSchema>;
export type TokenInfo = v.InferOutput<typeof tokenInfoSchema>;
export type Introspection = v.InferOutput<typeof introspectionSchema>;
export type JwtValidation = v.InferOutput<typeof jwtSchema>;
