import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { type Item, readItems } from '../storage/items.ts';
import { type LoginUser, loginUserIn, loginUserItem, type MergedUser } from './login-user.ts';

/** Seconds for which the session of a guest who was merged goes on. */
const guestStaysFor = 600;

const forwardItem = v.object({
  login_user_id: v.string(),
  login_app_id: v.string(),
  merged_into: v.string(),
  merged_at: v.string(),
  guest_since: v.optional(v.string()),
});
type Forwarded = v.InferOutput<typeof forwardItem>;

/** Epoch seconds at which the session of a guest ends who was merged at a time. */
export const endOfMergedGuest = ({ merged_at }: Pick<Forwarded, 'merged_at'>): number =>
  Math.floor(Date.parse(merged_at) / 1000) + guestStaysFor;

/**
 * Somebody who was merged, of the item that is left of them. The other may have been merged since
 * then, so the end of the chain is read.
 */
export async function readMergedUser(item: Item): Promise<MergedUser> {
  const forwarded = v.parse(forwardItem, item);
  const { id } = await followForward(forwarded.merged_into);
  const { login_app_id } = forwarded;
  return { login_app_id, merged_into: id, guest: guestOf(forwarded) };
}

/** A merged guest as they were, who lives as long as their session goes on. */
function guestOf({ guest_since, ...forwarded }: Forwarded): LoginUser | undefined {
  const guest_until = endOfMergedGuest(forwarded);
  if (guest_since === undefined || guest_until <= epochSeconds()) return undefined;
  const { login_user_id, login_app_id } = forwarded;
  const times = { created_at: guest_since, last_login_at: guest_since, guest_until };
  return { login_user_id, login_app_id, ...times, identities: [] };
}

/** The person to whom an id leads after all merges, who may have been deleted since then. */
export async function followForward(
  loginUserId: string,
): Promise<{ id: string; user: LoginUser | undefined }> {
  // Whoever reads sessions may read items in batches.
  const [item] = await readItems([loginUserItem(loginUserId)]);
  if (item?.merged_into !== undefined) return followForward(String(item.merged_into));
  return { id: loginUserId, user: loginUserIn(item) };
}
