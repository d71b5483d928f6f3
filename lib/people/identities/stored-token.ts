import * as v from 'valibot';
import { newId } from '../../foundation/ids.ts';
import type { VerifiedIdentity } from '../../login-users/identity.ts';
import { type IdentityAttributes, identityAttributes } from '../../login-users/linked-identity.ts';
import { loginUserItem } from '../../login-users/login-user.ts';
import { decryptSecrets, encryptSecrets } from '../../providers/settings/encryption.ts';
import { readItem } from '../../storage/items.ts';
import { revokeToken, type TokenPlace } from './revoke-token.ts';

/** The most tokens of providers that are kept for a person: each of their logins writes the item that holds them. */
const mostKept = 40;
/** The most bytes of a token that is kept. */
const mostBytes = 4096;

const tokenSchema = v.object({ token_secret: v.string() });

/** Whether an attribute of a Login User is a provider's token that is kept to be revoked. */
export const isStoredToken = (attribute: string): boolean =>
  attribute.startsWith(identityAttributes.storedToken(''));

/**
 * Change of a Login User that keeps a provider's refresh token, encrypted, so that it can be revoked when the identity is
 * no longer theirs; an empty one where none came along. A token that it takes the place of is kept beside it, if there is
 * room. It isn't revoked yet: one revocation may end all that the person has granted, as at Apple, and log them out. A
 * token that is too long or finds no room is revoked at once.
 */
export async function keepingToken(
  loginUserId: string,
  identityId: string,
  place: TokenPlace,
  { revocableToken: token }: VerifiedIdentity,
): Promise<{ set: IdentityAttributes; copy: Record<string, string> }> {
  const set: IdentityAttributes = {};
  const copy: Record<string, string> = {};
  if (token === undefined) return { set, copy };
  const item = (await readItem(loginUserItem(loginUserId))) ?? {};
  const name = identityAttributes.storedToken(identityId);
  const current = item[name];
  const hasRoom = Object.keys(item).filter(isStoredToken).length < mostKept;
  if (Buffer.byteLength(token) > mostBytes || !(hasRoom || current)) {
    await revokeToken(loginUserId, place, () => token);
    return { set, copy };
  }
  set[name] = await encryptSecrets({ provider: place.provider, token_secret: token }, place);
  // One that can't be read any longer is another one.
  const isNew = current && token !== (await readToken(current, place).catch(() => undefined));
  if (isNew && hasRoom) copy[`${name}.${newId('w')}`] = name;
  return { set, copy };
}

/** A kept token. @throws Error when it is not ours, or from another place */
export async function readToken(kept: unknown, place: TokenPlace): Promise<string> {
  const encrypted = v.parse(tokenSchema, kept);
  return v.parse(tokenSchema, await decryptSecrets(encrypted, place)).token_secret;
}
