import { definedOnly } from '../../foundation/defined-only.ts';
import { newId } from '../../foundation/ids.ts';
import {
  type IdentityAttributes,
  identityAttributes,
  type ProviderToken,
} from '../../login-users/linked-identity.ts';
import { loginUserItem } from '../../login-users/login-user.ts';
import { revokeToken, type TokenPlace } from '../../providers/provider-token.ts';
import type { ReceivedToken } from '../../providers/received-token.ts';
import { readItem } from '../../storage/items.ts';
import type { Owner } from './identity-index.ts';
import {
  decryptToken,
  encryptToken,
  isStoredToken,
  isTooLong,
  numberOfStoredTokens,
} from './stored-token.ts';

/** The most tokens that are stored for a person: each login writes the item that holds them. */
export const mostStored = 40;

/**
 * The fate of the provider's refresh token of a login or a link. It is stored to be used, or to be
 * revoked when the identity is no longer theirs, together with the earlier ones: at Apple, revoking
 * one ends the whole grant.
 */
type Decision = 'revoke' | 'store' | 'store_with_earlier';

/** The part of a person's change that stores a provider token; without one, it changes nothing. */
export interface TokenChange {
  set: IdentityAttributes;
  copy: Record<string, string>;
}

/**
 * Carries out a login or a link. A provider's refresh token that came for it is stored by it, or is
 * revoked at its end: nobody else knows it.
 * @param act gets the place where the exchange of a code puts the token
 */
export async function withReceivedToken<Result>(
  place: TokenPlace,
  act: (received: ReceivedToken) => Promise<Result>,
): Promise<Result> {
  const received: ReceivedToken = {};
  try {
    return await act(received);
  } finally {
    await revokeUnlessStored(received, place);
  }
}

async function revokeUnlessStored(
  { token, isRevocable, login_user_id, state }: ReceivedToken,
  place: TokenPlace,
): Promise<void> {
  if (token === undefined || !isRevocable || state === 'stored') return;
  const mayBeStored = state === 'offered' && login_user_id !== undefined;
  if (mayBeStored && (await isStoredFor(login_user_id, token, place))) return;
  await revokeToken(place, token, definedOnly({ login_user_id }));
}

/**
 * Decides where a received token goes, by what is stored of its person, who is read for it. Nothing
 * is written. One that can't be stored is revoked at the end.
 */
export async function decideOnToken(
  owner: Owner,
  place: TokenPlace,
  received: ReceivedToken,
): Promise<TokenChange> {
  const { token, state } = received;
  if (token === undefined || state === 'refused') return { set: {}, copy: {} };

  received.login_user_id = owner.login_user_id;
  const stored = await readStoredTokens(owner, place.loginAppId);
  const decision = decide(token, stored, received.isRevocable ?? false);
  if (decision === 'revoke') return { set: {}, copy: {} };

  const attribute = identityAttributes.providerToken(owner.identity_id);
  const set: IdentityAttributes = {};
  set[attribute] = await encryptToken(token, place);
  // The earlier token moves to an attribute of its own.
  const copy: Record<string, string> =
    decision === 'store_with_earlier' ? { [`${attribute}.${newId('w')}`]: attribute } : {};
  // Whoever refreshes the earlier token meanwhile finds that it is no longer the one.
  set[identityAttributes.refreshUntil(owner.identity_id)] = undefined;
  received.state = 'offered';
  return { set, copy };
}

/** Notes that the change by which a token was to be stored is done. */
export function noteStored(received: ReceivedToken): void {
  if (received.state === 'offered') received.state = 'stored';
}

/** The stored provider tokens of a person, as far as they matter for another one. */
interface StoredTokens {
  /** The number of refresh tokens and access tokens. */
  count: number;
  hasLatest: boolean;
  /** The latest token of the identity; undefined if it can't be read. */
  latestText: string | undefined;
}

async function readStoredTokens(owner: Owner, loginAppId: string): Promise<StoredTokens> {
  const { login_user_id, identity_id } = owner;
  const item = (await readItem(loginUserItem(login_user_id))) ?? {};
  const count = numberOfStoredTokens(item);
  const latest = item[identityAttributes.providerToken(identity_id)];
  if (latest === undefined) return { count, hasLatest: false, latestText: undefined };
  return { count, hasLatest: true, latestText: await textOf(latest, loginAppId) };
}

function decide({ text }: ProviderToken, stored: StoredTokens, isRevocable: boolean): Decision {
  const { count, hasLatest, latestText } = stored;
  const hasRoom = count < mostStored;
  if (isTooLong(text)) return 'revoke';
  if (!hasLatest) return hasRoom ? 'store' : 'revoke';
  // An earlier token that can't be read counts as another one. Without a revocation, it is forgotten.
  const isAnother = isRevocable && text !== latestText;
  return isAnother && hasRoom ? 'store_with_earlier' : 'store';
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
