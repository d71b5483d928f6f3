import * as v from 'valibot';
import {
  actionsSchema,
  authorityOf,
  canonicalIssuer,
  nonceRuleSchema,
  notificationEntries,
} from '../oidc/issuer.ts';

const exchangeEntries = { redirect_uris: v.optional(v.array(v.string()), []) };
/** An issuer in stored settings, which were checked when they were set. */
const knownIssuerSchema = v.object({
  issuer: v.pipe(v.string(), v.transform(canonicalIssuer)),
  namespace: v.optional(v.string()),
  jwks_uri: v.optional(v.string()),
  nonce: v.optional(nonceRuleSchema, 'optional'),
  audiences: v.optional(v.array(v.string()), []),
  code_exchange: v.optional(v.object(exchangeEntries)),
  user_profile: v.optional(v.object({})),
  on_consent_revoked: v.optional(actionsSchema),
  on_account_deleted: v.optional(actionsSchema),
  notifications: v.optional(v.object(notificationEntries)),
});
/** The parts of any provider's settings that say how people log in. Nothing in them is encrypted. */
export const loginSettingsSchema = v.object({
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
      id_token: v.optional(knownIssuerSchema),
    }),
  ),
});

/** An issuer that settings trust. `place` is its path in them. */
export type KnownIssuer = v.InferOutput<typeof knownIssuerSchema> & { place: string };

/** The issuers that settings trust, by what they issue. */
export function issuersIn(settings: object = {}): Record<'idTokens' | 'accessTokens', KnownIssuer[]> {
  const { issuers, audience_validation, authorization_code } = v.parse(loginSettingsSchema, settings);
  const idTokens = issuers.map((one, at) => ({ ...one, place: `issuers.${at}` }));
  if (authorization_code?.id_token) {
    const audiences = [authorization_code.client_id];
    idTokens.push({ ...authorization_code.id_token, audiences, place: 'authorization_code.id_token' });
  }
  const accessTokens = audience_validation ? [{ ...audience_validation, place: 'audience_validation' }] : [];
  return { idTokens, accessTokens };
}

/** The issuers and the namespaces of issuers that new settings no longer have. In another namespace, people are new Login Users. */
export function removedIssuers(before: object | undefined, after: object): string[] {
  const [known, now] = [issuersIn(before), issuersIn(after)];
  const authorities = new Map(now.idTokens.map((one) => [one.issuer, authorityOf(one)]));
  const ofIdTokens = known.idTokens.flatMap((one) => {
    const [authority, former] = [authorities.get(one.issuer), authorityOf(one)];
    if (authority === undefined) return [`the issuer ${one.issuer}`];
    return authority === former ? [] : [`the namespace ${former} of the issuer ${one.issuer}`];
  });
  const ofAccessTokens = known.accessTokens
    .filter(({ issuer }) => !now.accessTokens.some((one) => one.issuer === issuer))
    .map(({ issuer }) => `the issuer ${issuer}`);
  return [...ofIdTokens, ...ofAccessTokens];
}
