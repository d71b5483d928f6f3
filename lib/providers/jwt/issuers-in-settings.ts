import * as v from 'valibot';
import { pkceRules } from '../settings/fields.ts';
import { authorityOf, canonicalIssuer, issuerEntries, notificationEntries } from './issuer.ts';

const exchangeEntries = { redirect_uris: v.optional(v.array(v.string()), []) };
/** An issuer in stored settings, which were checked when they were set. */
const knownIssuerSchema = v.object({
  issuer: v.pipe(v.string(), v.transform(canonicalIssuer)),
  namespace: v.optional(v.string()),
  jwks_uri: v.optional(v.string()),
  nonce: issuerEntries.nonce,
  audiences: v.optional(v.array(v.string()), []),
  code_exchange: v.optional(v.object(exchangeEntries)),
  user_profile: v.optional(v.object({})),
  on_consent_revoked: issuerEntries.on_consent_revoked,
  on_account_deleted: issuerEntries.on_account_deleted,
  notifications: v.optional(v.object(notificationEntries)),
});
const loginSettingsSchema = v.object({
  namespace: v.optional(v.string()),
  verify_url: v.optional(v.string()),
  user_info: v.optional(v.object({ url: v.string() })),
  issuers: v.optional(v.array(knownIssuerSchema), []),
  // Only for JWTs, it has an issuer.
  audience_validation: v.fallback(v.optional(knownIssuerSchema), undefined),
  authorization_code: v.optional(
    v.object({
      ...exchangeEntries,
      token_url: v.string(),
      client_id: v.string(),
      pkce: v.optional(v.picklist(pkceRules)),
      id_token: v.optional(knownIssuerSchema),
    }),
  ),
});

/** An issuer that settings trust. `place` is its path in them. */
export type KnownIssuer = v.InferOutput<typeof knownIssuerSchema> & { place: string };

/**
 * How people log in by any provider's settings, with the issuers by what they issue. Nothing read
 * here is encrypted.
 */
export function readLoginSettings(settings: object = {}) {
  const { issuers, audience_validation, ...others } = v.parse(loginSettingsSchema, settings);
  const { authorization_code } = others;
  const idTokens: KnownIssuer[] = issuers.map((one, at) => ({ ...one, place: `issuers.${at}` }));
  if (authorization_code?.id_token) {
    const audiences = [authorization_code.client_id];
    idTokens.push({
      ...authorization_code.id_token,
      audiences,
      place: 'authorization_code.id_token',
    });
  }
  const accessTokens = audience_validation
    ? [{ ...audience_validation, place: 'audience_validation' }]
    : [];
  return { ...others, idTokens, accessTokens };
}

/**
 * Issuers and their namespaces that new settings no longer have. In another namespace, people are
 * new Login Users.
 */
export function removedIssuers(before: object | undefined, after: object): string[] {
  const known = readLoginSettings(before);
  const now = readLoginSettings(after);
  const authorities = new Map(now.idTokens.map((one) => [one.issuer, authorityOf(one)]));
  const ofIdTokens = known.idTokens.flatMap((one) => {
    const authority = authorities.get(one.issuer);
    const former = authorityOf(one);
    if (authority === undefined) return [`the issuer ${one.issuer}`];
    return authority === former ? [] : [`the namespace ${former} of the issuer ${one.issuer}`];
  });
  const ofAccessTokens = known.accessTokens
    .filter(({ issuer }) => !now.accessTokens.some((one) => one.issuer === issuer))
    .map(({ issuer }) => `the issuer ${issuer}`);
  return [...ofIdTokens, ...ofAccessTokens];
}
