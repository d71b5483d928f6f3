import * as v from 'valibot';
import { definedOnly } from '../../foundation/defined-only.ts';
import { identityAttributes, type ProviderToken } from '../../login-users/linked-identity.ts';
import { authorizationCodeProvider, providerIds } from '../../providers/provider-ids.ts';
import type { TokenPlace } from '../../providers/provider-token.ts';
import { decryptSecrets, encryptSecrets } from '../../providers/settings/encryption.ts';
import type { Item } from '../../storage/items.ts';

/** A provider token with the settings that name its endpoints. */
export type StoredProviderToken = ProviderToken & { place: TokenPlace };

const storedTokenSchema = v.object({
  /** Absent for the provider of authorization codes, once the only one with tokens to store. */
  provider: v.optional(v.picklist(providerIds), authorizationCodeProvider),
  issuer: v.optional(v.string()),
  token_secret: v.string(),
  /** The following are of a token that is kept to be used, and absent for one to be revoked alone. */
  since: v.optional(v.string()),
  access_token_secret: v.optional(v.string()),
  /** Epoch seconds at which the access token was asked for. */
  access_from: v.optional(v.number(), 0),
  /** Epoch seconds at which the access token expires. */
  access_until: v.optional(v.number(), 0),
  scopes: v.optional(v.array(v.string())),
});

/** Whether an attribute of a Login User holds a stored provider token. */
export const isStoredToken = (attribute: string): boolean =>
  attribute.startsWith(identityAttributes.providerToken(''));

/** The most bytes of a token that is stored. */
const longestToken = 4096;

export const isTooLong = (token: string): boolean => Buffer.byteLength(token) > longestToken;

/** The number of tokens that an attribute holds: a refresh token, and the access token beside it. */
export const numberOfTokensIn = (stored: unknown): number =>
  v.is(v.object({ access_token_secret: v.string() }), stored) ? 2 : 1;

/** The number of refresh tokens and access tokens that a person has, by their item. */
export const numberOfStoredTokens = (item: Item): number =>
  Object.entries(item)
    .filter(([attribute]) => isStoredToken(attribute))
    .reduce((sum, [, token]) => sum + numberOfTokensIn(token), 0);

/** A provider token as an attribute of a Login User: encrypted for its provider's settings. */
export async function encryptToken(token: ProviderToken, place: TokenPlace): Promise<object> {
  const { text: token_secret, issuer, access } = token;
  const { access_token, scopes, since } = access ?? {};
  const { issued_at: access_from, expires_at: access_until } = access ?? {};
  // A long access token is left out: the refresh token gets another one each time.
  const isStored = access_token !== undefined && !isTooLong(access_token);
  const access_token_secret = isStored ? access_token : undefined;
  const kept = { since, access_token_secret, access_from, access_until, scopes };
  const content = definedOnly({ provider: place.provider, issuer, token_secret, ...kept });
  return encryptSecrets(content, place);
}

/** The settings to which a stored token belongs, which are no secret. */
export const describeToken = (
  stored: unknown,
): Pick<StoredProviderToken, 'issuer'> & Pick<TokenPlace, 'provider'> =>
  v.parse(storedTokenSchema, stored);

/** The exchange that a stored token came from. */
export type TokenSource = Pick<TokenPlace, 'provider'> & Pick<ProviderToken, 'issuer'>;

/** Whether a stored token came from an exchange, and was kept to be used. */
export function isKeptFrom({ provider, issuer }: TokenSource, stored: unknown): boolean {
  const { success, output } = v.safeParse(storedTokenSchema, stored);
  if (!success || output.since === undefined) return false;
  return output.provider === provider && output.issuer === issuer;
}

/** @throws Error for an attribute that can't be read */
export async function decryptToken(
  stored: unknown,
  loginAppId: string,
): Promise<StoredProviderToken> {
  const encrypted = v.parse(storedTokenSchema, stored);
  const place = { loginAppId, provider: encrypted.provider };
  const decrypted = v.parse(storedTokenSchema, await decryptSecrets(encrypted, place));
  const { token_secret: text, issuer, since, scopes } = decrypted;
  if (since === undefined) return { text, issuer, place };
  const { access_token_secret: access_token } = decrypted;
  const { access_from: issued_at, access_until: expires_at } = decrypted;
  const access = { access_token, issued_at, expires_at, scopes, since };
  return { text, issuer, access, place };
}
