import * as v from 'valibot';
import { canonicalIssuer, issuerEntries, notificationEntries } from './issuer.ts';

/** Redirect URIs of a stored exchange of codes. */
export const storedRedirectUris = v.optional(v.array(v.string()), []);

/** An issuer in stored settings, which were checked when they were set. */
export const storedIssuerSchema = v.object({
  issuer: v.pipe(v.string(), v.transform(canonicalIssuer)),
  tenants: v.optional(v.array(v.string())),
  namespace: v.optional(v.string()),
  jwks_uri: v.optional(v.string()),
  nonce: issuerEntries.nonce,
  audiences: v.optional(v.array(v.string()), []),
  code_exchange: v.optional(
    v.looseObject({
      token_url: v.string(),
      redirect_uris: storedRedirectUris,
      keep_tokens: v.optional(v.boolean()),
      long_lived_tokens: v.optional(v.boolean()),
    }),
  ),
  user_profile: v.optional(v.object({})),
  on_consent_revoked: issuerEntries.on_consent_revoked,
  on_account_deleted: issuerEntries.on_account_deleted,
  notifications: v.optional(v.object(notificationEntries)),
});

/** An issuer that stored settings trust. `place` is its path in them. */
export type KnownIssuer = v.InferOutput<typeof storedIssuerSchema> & { place: string };

/** The issuers that stored settings trust, by what these issue. */
export interface IssuersInSettings {
  idTokens: KnownIssuer[];
  accessTokens: KnownIssuer[];
}
