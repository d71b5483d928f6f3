import * as v from 'valibot';
import { authorizationCodeSchema } from '../codes/settings.ts';
import { issuerEntries, issuerOfOneTenant, notificationEntries } from '../jwt/issuer.ts';
import {
  appErrorEntries,
  audiences,
  clientAuthentications,
  errorCodesSchema,
  fieldPathSchema,
  oneOf,
  profile,
  providerUrlSchema,
  textSchema,
} from '../settings/fields.ts';
import { authorityIn } from '../settings/namespace.ts';

/** The issuer of a signed user info, which is for our app alone. */
const signatureSchema = v.strictObject({
  issuer: issuerOfOneTenant,
  jwks_uri: issuerEntries.jwks_uri,
  audiences,
});

const userInfoSchema = v.strictObject({
  url: providerUrlSchema,
  subject_field: v.optional(fieldPathSchema, 'sub'),
  // The other type is rejected, so that 7 and "7" are never one person.
  subject_type: v.optional(oneOf(['string', 'integer']), 'string'),
  profile,
  // With it, a call carries Facebook's proof that it comes from our app.
  proof_secret: v.optional(textSchema),
  signature: v.optional(signatureSchema),
  error_field: v.optional(fieldPathSchema),
  ...appErrorEntries,
});

const introspectionSchema = v.strictObject({
  method: v.literal('introspection'),
  url: providerUrlSchema,
  client_id: textSchema,
  client_secret: textSchema,
  client_authentication: v.optional(oneOf(clientAuthentications)),
  audiences,
});

const tokenInfoSchema = v.strictObject({
  method: v.literal('token_info'),
  url: providerUrlSchema,
  token_parameter: v.optional(textSchema, 'access_token'),
  send_token_as: v.optional(oneOf(['query', 'json', 'bearer']), 'query'),
  app_token_parameter: v.optional(textSchema),
  app_token_secret: v.optional(textSchema),
  client_id: v.optional(textSchema),
  client_secret: v.optional(textSchema),
  audience_field: fieldPathSchema,
  valid_field: v.optional(fieldPathSchema),
  subject_field: v.optional(fieldPathSchema),
  refused_statuses: v.optional(
    v.array(v.pipe(v.number(), v.integer()), 'must be a list of HTTP statuses'),
  ),
  error_field: v.optional(fieldPathSchema, 'error'),
  refused_errors: v.optional(errorCodesSchema, []),
  ...appErrorEntries,
  audiences,
});

const jwtSchema = v.strictObject({
  method: v.literal('jwt'),
  issuer: issuerOfOneTenant,
  jwks_uri: issuerEntries.jwks_uri,
  audience_field: v.optional(fieldPathSchema, 'aud'),
  audiences,
});

const audienceValidationSchema = v.variant(
  'method',
  [introspectionSchema, tokenInfoSchema, jwtSchema],
  'must say by which method (introspection, token_info or jwt) the audience of a token is validated',
);

const notificationsSchema = v.strictObject({
  app_secret: textSchema,
  on_unlinked: notificationEntries.on_unlinked,
  data_deletion_url: v.optional(providerUrlSchema),
});

/**
 * The audience of every credential is validated: of an access token by the provider or the issuer's
 * signature, of a code by the tokens it is exchanged for or by the exchange itself (RFC 6749,
 * section 4.1.3).
 */
export const oauth2SettingsSchema = v.pipe(
  v.strictObject({
    namespace: v.optional(textSchema),
    user_info: v.optional(userInfoSchema),
    audience_validation: v.optional(audienceValidationSchema),
    authorization_code: v.optional(authorizationCodeSchema),
    notifications: v.optional(notificationsSchema),
  }),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    const { user_info, audience_validation, authorization_code } = dataset.value;
    if (authorization_code?.id_token && !user_info && !audience_validation) return;
    const isForCodesAlone =
      authorization_code && !authorization_code.id_token && !audience_validation;
    for (const key of ['user_info', 'audience_validation'] as const) {
      if (key === 'audience_validation' && isForCodesAlone) continue;
      // The subject of a JWT is in the JWT.
      if (key === 'user_info' && audience_validation?.method === 'jwt') continue;
      const value = dataset.value[key];
      const place = {
        type: 'object',
        origin: 'value',
        input: { ...dataset.value },
        key,
        value,
      } as const;
      if (!value) addIssue({ message: 'is missing', path: [place] });
    }
  }),
  v.transform((settings) => ({
    ...settings,
    namespace: settings.namespace ?? authorityIn(settings)?.namespace,
  })),
);

export type OAuth2Settings = v.InferOutput<typeof oauth2SettingsSchema>;
export type UserInfo = v.InferOutput<typeof userInfoSchema>;
export type AudienceValidation = v.InferOutput<typeof audienceValidationSchema>;
/** The settings of one method of audience validation. */
export type ValidationBy<Method> = Extract<AudienceValidation, { method: Method }>;
