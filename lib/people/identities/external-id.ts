import * as v from 'valibot';
import { clock, timestamp } from '../../foundation/clock.ts';
import { type LoginUser, readLoginUser } from '../../login-users/login-user.ts';
import { deleteItem, type ItemOf, itemKind, readItem, updateItem } from '../../storage/items.ts';
import { externalIdKey } from '../../storage/keys.ts';

/** The index item of an external id. It counts only if its Login User has the external id, too. */
const externalIdItem = itemKind(
  v.object({ login_user_id: v.string(), claimed_at: v.string() }),
  externalIdKey,
);

/** Milliseconds after which no import works any longer on what it has claimed: its function is stopped after 30 s. */
const longestImport = 60_000;

/** The index item of an external id, if there is one, and the person of the Login App who has the external id. */
export async function findExternalId(loginAppId: string, externalId: string) {
  const claim = await readItem(externalIdItem(loginAppId, externalId));
  const user = claim && (await readLoginUser(claim.login_user_id));
  return { claim, user: user?.external_id === externalId ? user : undefined };
}

/** The person of a Login App who has an external id. */
export const findByExternalId = async (
  loginAppId: string,
  externalId: string,
): Promise<LoginUser | undefined> => (await findExternalId(loginAppId, externalId)).user;

/**
 * Makes an external id lead to a Login User, before they get it. False while another import may be about to give it to
 * somebody else.
 * @param claim the index item as it was read; one that nobody has confirmed for a minute was left by an interrupted import
 */
export async function claimExternalId(
  loginAppId: string,
  externalId: string,
  loginUserId: string,
  claim: ItemOf<typeof externalIdItem> | undefined,
): Promise<boolean> {
  if (claim?.login_user_id === loginUserId) return true;
  if (claim && Date.parse(claim.claimed_at) > clock.now().getTime() - longestImport) return false;
  const { done } = await updateItem(externalIdItem(loginAppId, externalId), {
    set: { login_user_id: loginUserId, claimed_at: timestamp() },
    when: claim ? { login_user_id: { is: claim.login_user_id } } : { pk: { exists: false } },
  });
  return done;
}

/** Frees an external id that leads to a Login User. */
export const releaseExternalId = (
  loginAppId: string,
  externalId: string,
  loginUserId: string,
): Promise<void> =>
  deleteItem(externalIdItem(loginAppId, externalId), { login_user_id: { is: loginUserId } });
