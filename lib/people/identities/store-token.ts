import { newId } from '../../foundation/ids.ts';
import {
  type IdentityAttributes,
  identityAttributes,
  type ProviderToken,
} from '../../login-users/linked-identity.ts';
import { loginUserItem } from '../../login-users/login-user.ts';
import { revokeToken, type TokenPlace } from '../../providers/provider-token.ts';
import { readItem } from '../../storage/items.ts';
import type { Owner } from './identity-index.ts';
import { decryptToken, encryptToken, isStoredToken } from './stored-token.ts';

/** The most tokens that are stored for a person: each login writes the item that holds them. */
const mostStored = 40;

/** The most bytes of a token that is stored. */
const longestToken = 4096;

/**
 * The fate of the provider's refresh token of a login or a link. It is stored to be revoked when the
 * identity is no longer theirs, together with the earlier ones: at Apple, revoking one ends the
 * whole grant.
 */
type Decision = 'revoke' | 'store' | 'store_with_earlier';

/** The part of a person's change that stores a provider token; without one, it changes nothing. */
export interface TokenChange {
  set: IdentityAttributes;
  copy: Record<string, string>;
  /** A token that can't be stored. Whoever makes the change revokes it afterwards. */
  refused: ProviderToken | undefined;
}

/**
 * Decides where the provider token of a login or a link goes, by what is stored of the person, who
 * is read for it. Nothing is written.
 */
export async function decideOnToken(
  owner: Owner,
  place: TokenPlace,
  token: ProviderToken | undefined,
): Promise<TokenChange> {
  if (token === undefined) return { set: {}, copy: {}, refused: undefined };

  const stored = await readStoredTokens(owner, place.loginAppId);
  const decision = decide(token, stored);
  if (decision === 'revoke') return { set: {}, copy: {}, refused: token };

  const attribute = identityAttributes.providerToken(owner.identity_id);
  const set: IdentityAttributes = {};
  set[attribute] = await encryptToken(token, place);
  // The earlier token moves to an attribute of its own.
  const copy: Record<string, string> =
    decision === 'store_with_earlier' ? { [`${attribute}.${newId('w')}`]: attribute } : {};
  return { set, copy, refused: undefined };
}

/** The stored provider tokens of a person, as far as they matter for another one. */
interface StoredTokens {
  count: number;
  hasLatest: boolean;
  /** The latest token of the identity; undefined if it can't be read. */
  latestText: string | undefined;
}

async function readStoredTokens(owner: Owner, loginAppId: string): Promise<StoredTokens> {
  const { login_user_id, identity_id } = owner;
  const item = (await readItem(loginUserItem(login_user_id))) ?? {};
  const count = Object.keys(item).filter(isStoredToken).length;
  const latest = item[identityAttributes.providerToken(identity_id)];
  if (latest === undefined) return { count, hasLatest: false, latestText: undefined };
  return { count, hasLatest: true, latestText: await textOf(latest, loginAppId) };
}

function decide({ text }: ProviderToken, stored: StoredTokens): Decision {
  const { count, hasLatest, latestText } = stored;
  const hasRoom = count < mostStored;
  if (Buffer.byteLength(text) > longestToken) return 'revoke';
  if (!hasLatest) return hasRoom ? 'store' : 'revoke';
  // An earlier token that can't be read counts as another one.
  const isAnother = text !== latestText;
  return isAnother && hasRoom ? 'store_with_earlier' : 'store';
}

/** Revokes the token of a change that was made without it. */
export async function revokeRefused(
  { refused }: TokenChange,
  place: TokenPlace,
  login_user_id: string,
): Promise<void> {
  if (refused !== undefined) await revokeToken(place, refused, { login_user_id });
}

/**
 * Revokes the provider token of a login or a link that has failed, unless it was stored: a write
 * may be done although its answer was an error.
 */
export async function revokeUnlessStored(
  token: ProviderToken | undefined,
  login_user_id: string,
  place: TokenPlace,
): Promise<void> {
  if (token === undefined) return;
  const isStored = await isStoredFor(login_user_id, token, place);
  if (!isStored) await revokeToken(place, token, { login_user_id });
}

/** Whether a person has a token, as far as the store answers. */
async function isStoredFor(
  loginUserId: string,
  { text }: ProviderToken,
  { loginAppId }: TokenPlace,
): Promise<boolean> {
  const found = await readItem(loginUserItem(loginUserId)).catch(() => undefined);
  const stored = Object.entries(found ?? {}).filter(([attribute]) => isStoredToken(attribute));
  const texts = await Promise.all(stored.map(([, token]) => textOf(token, loginAppId)));
  return texts.includes(text);
}

/** The text of a stored token; undefined if it can't be read. */
async function textOf(stored: unknown, loginAppId: string): Promise<string | undefined> {
  const token = await decryptToken(stored, loginAppId).catch(() => undefined);
  return token?.text;
}
