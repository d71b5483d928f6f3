import { newId } from '../../foundation/ids.ts';
import { logEvent, logFailure } from '../../log/log.ts';
import {
  identitiesIn,
  identityAttributes,
  providerAccessIn,
} from '../../login-users/linked-identity.ts';
import { listAttributes, loginUserItem } from '../../login-users/login-user.ts';
import { type RevocationOutcome, revokeToken } from '../../providers/provider-token.ts';
import type { Conditions } from '../../storage/expressions.ts';
import { type Item, readItem, updateItem } from '../../storage/items.ts';
import type { Owner } from './identity-index.ts';
import { decryptToken, isStoredToken } from './stored-token.ts';

/**
 * Revokes all stored provider tokens of a deleted Login User, or those of identities that were
 * unlinked. A token whose revocation fails stays stored.
 */
export async function revokeStoredTokens(item: Item, signal?: AbortSignal) {
  const outcomes = await Promise.all(
    tokensToRevoke(item).map((attribute) => revokeAndRemove(item, attribute, { signal })),
  );
  const numberOf = (wanted: RevocationOutcome): number =>
    outcomes.filter((outcome) => outcome === wanted).length;
  return { revoked: numberOf('revoked'), not_revoked: numberOf('not_revoked') };
}

/**
 * Ends the access to a provider that is kept with an identity, and revokes its token. One that can't
 * be revoked now stays stored until the person loses the identity, and nobody gets it any more.
 * @returns undefined when no access is kept
 */
export async function forgetAccess(
  { login_user_id, identity_id }: Owner,
  signal?: AbortSignal,
): Promise<RevocationOutcome | undefined> {
  const key = loginUserItem(login_user_id);
  const found = await readItem(key);
  if (!found || !providerAccessIn(found, identity_id)) return undefined;

  // 1. From now on, nobody gets a token.
  const moved = await setAside(login_user_id, [identity_id]);
  const [aside] = Object.keys(moved ?? {});
  if (aside === undefined) return undefined;

  // 2. The provider revokes it.
  const item = (await readItem(key)) ?? {};
  return revokeAndRemove(item, aside, { signal });
}

/**
 * Ends the access to a provider that is kept with some identities.
 * @param when further conditions of the person
 * @returns the attributes where the tokens wait to be revoked, each with the one where it was;
 *   undefined when one is not kept, or a condition did not hold
 */
export async function setAside(
  loginUserId: string,
  identityIds: string[],
  when: Conditions = {},
): Promise<Record<string, string> | undefined> {
  const { providerToken, refreshUntil } = identityAttributes;
  const attributes = identityIds.map(providerToken);
  const copy = Object.fromEntries(attributes.map((from) => [`${from}.${newId('w')}`, from]));
  const areKept = Object.fromEntries(attributes.map((from) => [from, { exists: true }]));
  const { done } = await updateItem(loginUserItem(loginUserId), {
    copy,
    remove: [...attributes, ...identityIds.map(refreshUntil)],
    when: { ...areKept, ...when },
  });
  if (!done) return undefined;
  for (const identity_id of identityIds)
    logEvent('provider_access_ended', { login_user_id: loginUserId, identity_id });
  return copy;
}

/** The attributes with tokens of identities that a person no longer has. */
function tokensToRevoke(item: Item): string[] {
  const isDeleted = item.deleted_at !== undefined;
  const identities = isDeleted ? [] : identitiesIn(item);
  const needed = identities.map(({ identity_id }) => identityAttributes.providerToken(identity_id));
  return Object.keys(item)
    .filter(isStoredToken)
    .filter((attribute) => !needed.some((start) => attribute.startsWith(start)));
}

/** Revokes a stored token. One that can't be read is not revoked, and the log says so. */
async function revokeStored(
  item: Item,
  attribute: string,
  signal?: AbortSignal,
): Promise<RevocationOutcome> {
  const login_user_id = String(item.login_user_id);
  // The token that a login wanted to put here had been removed.
  if (item[attribute] === null) return 'not_revocable';
  try {
    const { place, ...token } = await decryptToken(item[attribute], String(item.login_app_id));
    return await revokeToken(place, token, { login_user_id, signal });
  } catch (error) {
    logFailure('provider_token_not_revoked', error, { login_user_id });
    return 'not_revoked';
  }
}

/**
 * Revokes a stored token, and removes it then. One whose revocation fails stays.
 * @param isLastTry removes it all the same
 */
export async function revokeAndRemove(
  item: Item,
  attribute: string,
  { signal, isLastTry = false }: { signal?: AbortSignal | undefined; isLastTry?: boolean } = {},
): Promise<RevocationOutcome> {
  const login_user_id = String(item.login_user_id);
  const outcome = await revokeStored(item, attribute, signal);
  if (outcome === 'not_revoked' && !isLastTry) return outcome;
  await removeToken(login_user_id, attribute);
  if (outcome === 'not_revoked') logEvent('provider_token_given_up', { login_user_id });
  return outcome;
}

async function removeToken(loginUserId: string, attribute: string): Promise<void> {
  await updateItem(loginUserItem(loginUserId), {
    remove: [attribute],
    when: { [attribute]: { exists: true } },
  });
}

/**
 * Repeats the revocations that failed for a Login User, deleted or not; undefined when there never
 * was one.
 */
export async function retryRevocations(loginUserId: string) {
  const item = await readItem(loginUserItem(loginUserId));
  const hasExisted = item?.deleted_at !== undefined || item?.created_at !== undefined;
  if (!item || !hasExisted) return undefined;

  const outcome = await revokeStoredTokens(item);
  // A finished deletion has left the person in the list because of these tokens. An interrupted one
  // still needs the list to lead to it.
  const isOver = item.created_at === undefined;
  if (isOver && outcome.not_revoked === 0 && item.list !== undefined) {
    await updateItem(loginUserItem(loginUserId), {
      remove: listAttributes,
      when: { created_at: { exists: false }, list: { exists: true } },
    });
  }
  return { login_user_id: loginUserId, ...outcome };
}
