import * as v from 'valibot';
import { definedOnly } from '../../foundation/defined-only.ts';
import { newId } from '../../foundation/ids.ts';
import { logFailure } from '../../log/log.ts';
import {
  type IdentityAttributes,
  identitiesIn,
  identityAttributes,
  type RevocableToken,
  type VerifiedIdentity,
} from '../../login-users/linked-identity.ts';
import { listAttributes, loginUserItem } from '../../login-users/login-user.ts';
import { authorizationCodeProvider, providerIds } from '../../providers/provider-ids.ts';
import { revokeToken, type TokenPlace } from '../../providers/provider-token.ts';
import { decryptSecrets, encryptSecrets } from '../../providers/settings/encryption.ts';
import { type Item, readItem, updateItem } from '../../storage/items.ts';
import type { Owner } from './identity-index.ts';

/**
 * The most tokens that are kept for a person: each of their logins writes the item that holds them.
 */
const mostKept = 40;
const mostBytes = 4096;

const tokenSchema = v.object({
  provider: v.optional(v.picklist(providerIds), authorizationCodeProvider),
  issuer: v.optional(v.string()),
  token_secret: v.string(),
});

type PlacedToken = RevocableToken & { place: TokenPlace };

export const isStoredToken = (attribute: string) =>
  attribute.startsWith(identityAttributes.storedToken(''));

/**
 * The change of a Login User by a login or a link with an identity. Claims from the app stay until
 * there are newer ones: Apple gives them once. The provider's refresh token is stored, encrypted,
 * to be revoked when the identity is no longer theirs, beside the earlier ones: at Apple, revoking
 * one ends the whole grant. A token that is too long or one too many is revoked at once.
 */
export async function changeBy(
  { login_user_id, identity_id }: Owner,
  place: TokenPlace,
  { profile, told_by_app, code, revocableToken: token }: VerifiedIdentity,
): Promise<{ set: IdentityAttributes; copy: Record<string, string> }> {
  const set: IdentityAttributes = {};
  set[identityAttributes.profile(identity_id)] = profile;
  if (told_by_app) set[identityAttributes.toldByApp(identity_id)] = told_by_app;
  if (code)
    set[identityAttributes.codeFailed(identity_id)] = code === 'not_exchanged' ? true : undefined;
  if (token === undefined) return { set, copy: {} };
  const item = (await readItem(loginUserItem(login_user_id))) ?? {};
  const name = identityAttributes.storedToken(identity_id);
  const current = item[name];
  const hasRoom = Object.keys(item).filter(isStoredToken).length < mostKept;
  if (Buffer.byteLength(token.text) > mostBytes || !(hasRoom || current)) {
    await revokeToken(place, token, { login_user_id });
    return { set, copy: {} };
  }
  const { text: token_secret, issuer } = token;
  set[name] = await encryptSecrets(
    definedOnly({ provider: place.provider, issuer, token_secret }),
    place,
  );
  // One that can't be read counts as another one.
  const known = current ? await readToken(current, place.loginAppId).catch(() => undefined) : token;
  const isNew = token_secret !== known?.text;
  return { set, copy: isNew && hasRoom ? { [`${name}.${newId('w')}`]: name } : {} };
}

async function readToken(kept: unknown, loginAppId: string): Promise<PlacedToken> {
  const encrypted = v.parse(tokenSchema, kept);
  const place = { loginAppId, provider: encrypted.provider };
  const { token_secret, issuer } = v.parse(tokenSchema, await decryptSecrets(encrypted, place));
  return { text: token_secret, issuer, place };
}

/**
 * Rethrows the error of a login or a link. The token of the verified identity is revoked first,
 * unless it was stored: a write may be done although its answer was an error.
 */
export async function revokeUnlessStored(
  error: unknown,
  login_user_id: string,
  place: TokenPlace,
  { revocableToken: token }: VerifiedIdentity,
): Promise<never> {
  if (token !== undefined && !(await isStoredAt(login_user_id, token, place)))
    await revokeToken(place, token, { login_user_id });
  throw error;
}

/** Whether a person has a token, as far as the store answers. */
async function isStoredAt(
  loginUserId: string,
  { text }: RevocableToken,
  { loginAppId }: TokenPlace,
): Promise<boolean> {
  const item = (await readItem(loginUserItem(loginUserId)).catch(() => undefined)) ?? {};
  const names = Object.keys(item).filter(isStoredToken);
  const tokens = names.map((name) => readToken(item[name], loginAppId).catch(() => undefined));
  return (await Promise.all(tokens)).some((token) => token?.text === text);
}

/**
 * Revokes all tokens of a deleted Login User, or those of unlinked identities. One that fails stays
 * stored.
 */
export async function revokeStoredTokens(item: Item, signal?: AbortSignal) {
  const login_user_id = String(item.login_user_id);
  const identities = item.deleted_at === undefined ? identitiesIn(item) : [];
  const needed = identities.map(({ identity_id }) => identityAttributes.storedToken(identity_id));
  const isNeeded = (name: string) => needed.some((start) => name.startsWith(start));
  const names = Object.keys(item).filter((name) => isStoredToken(name) && !isNeeded(name));
  const outcomes = await Promise.all(
    names.map(async (attribute) => {
      if (!(await revokeStored(item, attribute, signal))) return false;
      await updateItem(loginUserItem(login_user_id), {
        remove: [attribute],
        when: { [attribute]: { exists: true } },
      });
      return true;
    }),
  );
  const revoked = outcomes.filter(Boolean).length;
  return { revoked, not_revoked: outcomes.length - revoked };
}

/** Revokes a stored token. One that can't be read is not revoked, and the log says so. */
async function revokeStored(item: Item, attribute: string, signal?: AbortSignal): Promise<boolean> {
  const login_user_id = String(item.login_user_id);
  try {
    const { place, ...token } = await readToken(item[attribute], String(item.login_app_id));
    return await revokeToken(place, token, { login_user_id, signal });
  } catch (error) {
    logFailure('provider_token_not_revoked', error, { login_user_id });
    return false;
  }
}

/**
 * Revokes again what failed for a Login User, deleted or not; undefined when there never was one.
 */
export async function retryRevocations(loginUserId: string) {
  const item = await readItem(loginUserItem(loginUserId));
  if (!(item?.deleted_at || item?.created_at)) return undefined;
  const outcome = await revokeStoredTokens(item);
  // An interrupted deletion still needs its place in the list.
  if (outcome.not_revoked === 0 && item.list !== undefined && item.created_at === undefined) {
    await updateItem(loginUserItem(loginUserId), {
      remove: listAttributes,
      when: { created_at: { exists: false }, list: { exists: true } },
    });
  }
  return { login_user_id: loginUserId, ...outcome };
}
