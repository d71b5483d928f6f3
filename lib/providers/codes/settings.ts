import { createPrivateKey } from 'node:crypto';
import * as v from 'valibot';
import { issuerEntries, tenantRules } from '../jwt/issuer.ts';
import {
  appErrorEntries,
  clientAuthentications,
  errorCodesSchema,
  fieldPathSchema,
  oneOf,
  pkceRules,
  providerUrlSchema,
  textSchema,
  valueAtPath,
} from '../settings/fields.ts';

/**
 * Material of a client secret for Apple.
 * @see
 *   https://developer.apple.com/documentation/accountorganizationaldatasharing/creating-a-client-secret
 */
const clientSecretJwtSchema = v.strictObject({
  team_id: textSchema,
  key_id: textSchema,
  private_key_secret: v.pipe(
    textSchema,
    v.check(isKeyOfApple, 'must be an EC private key for ES256 in PEM form'),
  ),
});

function isKeyOfApple(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

const exchangeEntries = {
  token_url: providerUrlSchema,
  client_id: textSchema,
  client_secret: v.optional(textSchema),
  client_secret_jwt: v.optional(clientSecretJwtSchema),
  redirect_uris: v.optional(
    v.pipe(
      v.array(textSchema, 'must be a list of redirect URIs'),
      v.maxLength(20, 'must name at most 20 redirect URIs'),
    ),
    [],
  ),
  client_authentication: v.optional(oneOf(clientAuthentications), 'basic'),
  error_field: v.optional(fieldPathSchema, 'error'),
  refused_errors: v.optional(errorCodesSchema, ['invalid_grant']),
  ...appErrorEntries,
};

/** Settings of the refresh token that comes for a code. */
const refreshTokenEntries = {
  revocation_url: v.optional(providerUrlSchema),
  // Whether it is kept, and gets access tokens for the company's servers.
  keep_tokens: v.optional(v.boolean('must be true or false')),
  // Whether servers also get access tokens that have more than an hour left.
  long_lived_tokens: v.optional(v.boolean('must be true or false')),
};

/** Whether an exchange that gives servers long-lived tokens keeps any. */
const keepsWhatItGives = <Exchange extends { keep_tokens?: unknown; long_lived_tokens?: unknown }>({
  keep_tokens,
  long_lived_tokens,
}: Exchange): boolean => long_lived_tokens !== true || keep_tokens === true;
const notKept = 'is only for keep_tokens';

/**
 * The problem of an exchange that has both or neither of `client_secret` and `client_secret_jwt`.
 */
const problemOfSecrets = ({ input }: v.BaseIssue<unknown>): string =>
  valueAtPath(input, 'client_secret') ? 'must not stand beside client_secret_jwt' : 'is missing';

const hasOneSecret = <Exchange extends { client_secret?: unknown; client_secret_jwt?: unknown }>(
  exchange: Exchange,
) => (exchange.client_secret === undefined) !== (exchange.client_secret_jwt === undefined);

export const authorizationCodeSchema = v.pipe(
  v.strictObject({
    ...exchangeEntries,
    ...refreshTokenEntries,
    // Whether the provider refuses a verifier that doesn't fit, also for a code without a
    // challenge, or needs one for each code.
    pkce: v.optional(oneOf(pkceRules)),
    id_token: v.optional(v.pipe(v.strictObject(issuerEntries), tenantRules())),
  }),
  v.forward(v.check(hasOneSecret, problemOfSecrets), ['client_secret']),
  v.forward(v.check(keepsWhatItGives, notKept), ['long_lived_tokens']),
);

/**
 * The exchange of a code that comes with an id token. It only serves to get a token that can be
 * revoked or is kept.
 */
export const issuerExchangeSchema = v.pipe(
  v.strictObject({ ...exchangeEntries, ...refreshTokenEntries }),
  v.forward(v.check(hasOneSecret, problemOfSecrets), ['client_secret']),
  v.forward(v.check(keepsWhatItGives, notKept), ['long_lived_tokens']),
  v.forward(
    v.check(
      ({ revocation_url, keep_tokens }) => revocation_url !== undefined || keep_tokens === true,
      'is missing',
    ),
    ['revocation_url'],
  ),
);

/** The part of an exchange that refreshes and revokes the refresh tokens which came for codes. */
export const refreshTokenSchema = v.object({ ...exchangeEntries, ...refreshTokenEntries });
export type RefreshTokenSettings = v.InferOutput<typeof refreshTokenSchema>;

export type CodeExchange = v.InferOutput<typeof authorizationCodeSchema>;
