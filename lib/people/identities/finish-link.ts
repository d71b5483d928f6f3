import { identityAttributes } from '../../login-users/linked-identity.ts';
import { loginUserItem, readLoginUser } from '../../login-users/login-user.ts';
import { updateItem } from '../../storage/items.ts';
import { type LinkMark, unmarkLink } from '../unfinished.ts';
import { confirmedIds } from './identities-of-person.ts';
import { retryRevocations } from './provider-tokens.ts';

/**
 * Removes what an interrupted link has left of an identity, and revokes the provider's token that came with it. One that
 * is linked in spite of the interruption stays. For a link that nobody is working on any longer.
 * @returns whether there was anything to remove
 */
export async function finishLink({ login_user_id, identity_id }: LinkMark): Promise<boolean> {
  const user = await readLoginUser(login_user_id);
  const left = (user?.linked ?? []).filter((identity) => identity.identity_id === identity_id);
  const isLeftOver = left.length > 0 && !(await confirmedIds(left)).has(identity_id);
  if (isLeftOver) {
    const { linked, lastLogin, profile } = identityAttributes;
    await updateItem(loginUserItem(login_user_id), {
      remove: [linked(identity_id), lastLogin(identity_id), profile(identity_id)],
      when: { [linked(identity_id)]: { exists: true } },
    });
  }
  await retryRevocations(login_user_id);
  await unmarkLink(login_user_id, identity_id);
  return isLeftOver;
}
