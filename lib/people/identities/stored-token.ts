import * as v from 'valibot';
import { definedOnly } from '../../foundation/defined-only.ts';
import {
  identityAttributes,
  type ProviderAccess,
  type ProviderToken,
} from '../../login-users/linked-identity.ts';
import { authorizationCodeProvider, providerIds } from '../../providers/provider-ids.ts';
import type { TokenPlace } from '../../providers/provider-token.ts';
import { decryptSecrets, encryptSecrets } from '../../providers/settings/encryption.ts';
import type { Item } from '../../storage/items.ts';

/** A provider token with the settings that name its endpoints. */
export type StoredProviderToken = ProviderToken & { place: TokenPlace };

/**
 * A provider token as an attribute of a Login User. The name of what is encrypted ends in
 * `_secret`.
 */
const storedTokenSchema = v.object({
  /** Absent for the provider of authorization codes, once the only one with tokens to store. */
  provider: v.optional(v.picklist(providerIds), authorizationCodeProvider),
  issuer: v.optional(v.string()),
  /** The refresh token. */
  token_secret: v.string(),

  // Only of a token that the company's servers may use. One that is stored to be revoked has none.
  since: v.optional(v.string()),
  /** The host of the token endpoint that gave it. */
  token_host: v.optional(v.string(), ''),
  access_token_secret: v.optional(v.string()),
  /** Epoch seconds at which the access token was asked for. */
  access_from: v.optional(v.number(), 0),
  /** Epoch seconds at which the access token expires. */
  access_until: v.optional(v.number(), 0),
  scopes: v.optional(v.array(v.string())),
});
type StoredToken = v.InferOutput<typeof storedTokenSchema>;

/** Whether an attribute of a Login User holds a stored provider token. */
export const isStoredToken = (attribute: string): boolean =>
  attribute.startsWith(identityAttributes.providerToken(''));

/** The most bytes of a token that is stored. */
const longestToken = 4096;

/** Whether a provider's token is longer than those that are stored. */
export const isTooLong = (token: string): boolean => Buffer.byteLength(token) > longestToken;

const withAccessToken = v.object({ access_token_secret: v.string() });

/** The number of tokens in an attribute: a refresh token, and perhaps an access token with it. */
export const numberOfTokensIn = (attribute: unknown): number =>
  v.is(withAccessToken, attribute) ? 2 : 1;

/** The number of refresh tokens and access tokens that a person has, by their item. */
export function numberOfStoredTokens(item: Item): number {
  const storedTokens = Object.entries(item).filter(([attribute]) => isStoredToken(attribute));
  return storedTokens.reduce((sum, [, token]) => sum + numberOfTokensIn(token), 0);
}

/** A provider token as an attribute of a Login User: encrypted for its provider's settings. */
export function encryptToken(token: ProviderToken, place: TokenPlace): Promise<object> {
  const attribute = definedOnly({
    provider: place.provider,
    issuer: token.issuer,
    token_secret: token.text,
    ...storedAccess(token.access),
  });
  return encryptSecrets(attribute, place);
}

function storedAccess(access: ProviderAccess | undefined): Partial<StoredToken> {
  if (access === undefined) return {};
  const { host, access_token, issued_at, expires_at, scopes, since } = access;
  // A long access token is left out: the refresh token gets another one each time.
  const isStored = access_token !== undefined && !isTooLong(access_token);
  return {
    since,
    token_host: host,
    access_token_secret: isStored ? access_token : undefined,
    access_from: issued_at,
    access_until: expires_at,
    scopes,
  };
}

/** The settings to which a stored token belongs, which are no secret. */
export const describeToken = (
  attribute: unknown,
): Pick<StoredProviderToken, 'issuer'> & Pick<TokenPlace, 'provider'> =>
  v.parse(storedTokenSchema, attribute);

/** The exchange that a stored token came from. */
export type TokenSource = Pick<TokenPlace, 'provider'> &
  Pick<ProviderToken, 'issuer'> &
  Pick<ProviderAccess, 'host'>;

/** Whether a stored token came from an exchange, and was kept to be used. */
export function isKeptFrom({ provider, issuer, host }: TokenSource, attribute: unknown): boolean {
  const { success, output: stored } = v.safeParse(storedTokenSchema, attribute);
  if (!success || stored.since === undefined || stored.token_host !== host) return false;
  return stored.provider === provider && stored.issuer === issuer;
}

/**
 * A provider token that `encryptToken` has made an attribute.
 * @throws Error for an attribute that can't be read
 */
export async function decryptToken(
  attribute: unknown,
  loginAppId: string,
): Promise<StoredProviderToken> {
  const encrypted = v.parse(storedTokenSchema, attribute);
  const place = { loginAppId, provider: encrypted.provider };
  const decrypted = v.parse(storedTokenSchema, await decryptSecrets(encrypted, place));
  return {
    text: decrypted.token_secret,
    issuer: decrypted.issuer,
    access: accessIn(decrypted),
    place,
  };
}

/** The access that a decrypted token gives; undefined for one that is stored to be revoked alone. */
function accessIn(decrypted: StoredToken): ProviderAccess | undefined {
  if (decrypted.since === undefined) return undefined;
  return {
    host: decrypted.token_host,
    access_token: decrypted.access_token_secret,
    issued_at: decrypted.access_from,
    expires_at: decrypted.access_until,
    scopes: decrypted.scopes,
    since: decrypted.since,
  };
}
