import * as v from 'valibot';
import { definedOnly } from '../../foundation/defined-only.ts';
import { identityAttributes, type ProviderToken } from '../../login-users/linked-identity.ts';
import { authorizationCodeProvider, providerIds } from '../../providers/provider-ids.ts';
import type { TokenPlace } from '../../providers/provider-token.ts';
import { decryptSecrets, encryptSecrets } from '../../providers/settings/encryption.ts';

/** A provider token with the settings that name its revocation endpoint. */
type StoredProviderToken = ProviderToken & { place: TokenPlace };

const storedTokenSchema = v.object({
  /** Absent for the provider of authorization codes, once the only one with tokens to store. */
  provider: v.optional(v.picklist(providerIds), authorizationCodeProvider),
  issuer: v.optional(v.string()),
  token_secret: v.string(),
});

/** Whether an attribute of a Login User holds a stored provider token. */
export const isStoredToken = (attribute: string): boolean =>
  attribute.startsWith(identityAttributes.providerToken(''));

/** A provider token as an attribute of a Login User: encrypted for its provider's settings. */
export async function encryptToken(token: ProviderToken, place: TokenPlace): Promise<object> {
  const { text: token_secret, issuer } = token;
  const content = definedOnly({ provider: place.provider, issuer, token_secret });
  return encryptSecrets(content, place);
}

/** @throws Error for an attribute that can't be read */
export async function decryptToken(
  stored: unknown,
  loginAppId: string,
): Promise<StoredProviderToken> {
  const encrypted = v.parse(storedTokenSchema, stored);
  const place = { loginAppId, provider: encrypted.provider };
  const decrypted = await decryptSecrets(encrypted, place);
  const { token_secret, issuer } = v.parse(storedTokenSchema, decrypted);
  return { text: token_secret, issuer, place };
}
