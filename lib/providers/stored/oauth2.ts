import * as v from 'valibot';
import {
  type IssuersInSettings,
  storedIssuerSchema,
  storedRedirectUris,
} from '../jwt/issuers-in-settings.ts';
import { hostOf, pkceRules } from '../settings/fields.ts';

/** Stored settings, as far as they are read without decrypting them. */
const storedSchema = v.object({
  namespace: v.optional(v.string()),
  user_info: v.optional(v.object({ url: v.string(), signature: v.optional(storedIssuerSchema) })),
  // Only the method `jwt` has an issuer.
  audience_validation: v.fallback(v.optional(storedIssuerSchema), undefined),
  authorization_code: v.optional(
    v.looseObject({
      token_url: v.string(),
      client_id: v.string(),
      redirect_uris: storedRedirectUris,
      pkce: v.optional(v.picklist(pkceRules)),
      id_token: v.optional(storedIssuerSchema),
      keep_tokens: v.optional(v.boolean()),
      long_lived_tokens: v.optional(v.boolean(), false),
    }),
  ),
});

/** Answers about stored settings of an OAuth 2.0 provider. */
export const oauth2Stored = {
  issuers: (stored: object): IssuersInSettings => {
    const { user_info, audience_validation, authorization_code } = v.parse(storedSchema, stored);
    const issuers: IssuersInSettings = { idTokens: [], accessTokens: [] };
    if (audience_validation)
      issuers.accessTokens.push({ ...audience_validation, place: 'audience_validation' });
    if (user_info?.signature)
      issuers.accessTokens.push({ ...user_info.signature, place: 'user_info.signature' });
    if (authorization_code?.id_token) {
      const audiences = [authorization_code.client_id];
      const place = 'authorization_code.id_token';
      issuers.idTokens.push({ ...authorization_code.id_token, audiences, place });
    }
    return issuers;
  },
  namespace: (stored: object) => v.parse(storedSchema, stored).namespace,
  addresses: (stored: object) => {
    const { user_info, authorization_code } = v.parse(storedSchema, stored);
    const addresses = [user_info?.url, authorization_code?.token_url];
    return addresses.filter((one) => one !== undefined);
  },
  exchange: (stored: object) => v.parse(storedSchema, stored).authorization_code,
  keepers: (stored: object) => {
    const { authorization_code: exchange } = v.parse(storedSchema, stored);
    if (!exchange?.keep_tokens) return [];
    const { id_token: trusted, long_lived_tokens: givesLongLived, token_url } = exchange;
    return [{ issuer: undefined, host: hostOf(token_url), trusted, givesLongLived }];
  },
};
