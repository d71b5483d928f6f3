import { ServiceError } from '../../foundation/service-error.ts';
import { logEvent } from '../../log/log.ts';
import type { UserIdentity } from '../../login-users/linked-identity.ts';
import {
  type LoginUser,
  loginUserItem,
  newIndexId,
  readLoginUser,
  whileActive,
  whileExisting,
} from '../../login-users/login-user.ts';
import { unprocessableEntity } from '../../schema/validation.ts';
import { retryOnConflict } from '../../storage/batches.ts';
import type { Conditions } from '../../storage/expressions.ts';
import { readItem } from '../../storage/items.ts';
import { type TransactionWrite, update, writeTogether } from '../../storage/transactions.ts';
import { attributeOf, changeOfIdentities, requireChangeable } from './change-of-identities.ts';
import { type IdentityOwner, leadNowhere, type Owner } from './identity-index.ts';
import { revokeStoredTokens } from './revoke-tokens.ts';

/**
 * Unlinks an identity from a Login User, if another one remains. The person and the index item of
 * the identity change in one transaction.
 * @param options `byOperator` unlinks from a blocked person too
 * @throws ServiceError `not_found` for no such identity, `unprocessable_entity` for the last one,
 *   `forbidden` if blocked
 */
export async function unlinkIdentity(owner: Owner, { byOperator = false } = {}): Promise<void> {
  const { login_user_id, identity_id } = owner;
  const when = byOperator ? whileExisting : whileActive;

  const unlinkOnce = async (): Promise<UserIdentity | undefined> => {
    const user = await readLoginUser(login_user_id);
    const identity = user?.identities.find((one) => one.identity_id === identity_id);
    if (!user || !identity) throw noSuchIdentity();
    const other = otherThan(user, identity);
    if (!other) throw unprocessableEntity([{ field: 'identity_id', message: isLast }]);
    const { loses, outcome } = await unlink({ user, identity, other, when });
    if (outcome.done) return identity;
    requireChangeable(outcome.refused.get(loses), byOperator);
    // Its index item leads to somebody else, or to nobody.
    if (!outcome.refused.has(loses)) throw noSuchIdentity();
    return undefined;
  };

  const removed = await retryOnConflict(unlinkOnce, 'The person keeps changing their identities.');
  await afterUnlinking(login_user_id, [removed]);
}

export const noSuchIdentity = () =>
  new ServiceError('not_found', 'The Login User has no such identity.');
const isLast =
  'The last identity cannot be unlinked: nobody could log in any longer. Delete the account instead.';

/** An identity that a person has besides this one, if any. */
export const otherThan = ({ identities }: LoginUser, { identity_id }: UserIdentity) =>
  identities.find((one) => one.identity_id !== identity_id);

/**
 * Unlinks an identity because its provider says so.
 * @param when further conditions of the person
 * @returns whether the person was as they were read, not blocked, and keeps another identity
 */
export async function unlinkForProvider(
  { user, identity }: IdentityOwner,
  when: Conditions,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const other = otherThan(user, identity);
  if (!other) return false;
  const { outcome } = await unlink({ user, identity, other, when: { ...whileActive, ...when } });
  if (!outcome.done) return false;
  await afterUnlinking(user.login_user_id, [identity], signal);
  return true;
}

interface Unlinking extends IdentityOwner {
  /** An identity that they keep. */
  other: UserIdentity;
  /** Further conditions of the person. */
  when: Conditions;
}

/** Writes an unlinking: the person loses the identity, and its index item leads to nobody. */
async function unlink({ user, identity, other, when }: Unlinking) {
  const { login_user_id } = user;
  const keeps = attributeOf({ login_user_id, identity_id: other.identity_id });
  const loses = losing(user, identity, { when: { ...when, [keeps]: { exists: true } } });
  const outcome = await writeTogether([loses, ...leadNowhere([identity])]);
  return { loses, outcome };
}

/**
 * The write by which a person loses an identity.
 * @param nextIndexId the index item where the identity goes on, if it is their first one
 */
export function losing(
  user: LoginUser,
  identity: UserIdentity,
  { when, nextIndexId = newIndexId() }: { when: Conditions; nextIndexId?: string },
): TransactionWrite {
  const change = changeOfIdentities(user, { removed: [identity], nextIndexId });
  return update(loginUserItem(user.login_user_id), {
    ...change,
    when: { ...change.when, ...when },
  });
}

/**
 * Logs that a person has lost identities, and revokes the provider's tokens that came with them.
 */
export async function afterUnlinking(
  login_user_id: string,
  removed: UserIdentity[],
  signal?: AbortSignal,
): Promise<void> {
  if (removed.length === 0) return;
  for (const { identity_id } of removed) {
    logEvent('identity_unlinked', { login_user_id, identity_id });
  }
  const item = await readItem(loginUserItem(login_user_id));
  if (item) await revokeStoredTokens(item, signal);
}
