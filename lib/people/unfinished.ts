import * as v from 'valibot';
import { clock, timestamp } from '../foundation/clock.ts';
import { deleteItem, type Item, type ItemOf, itemKind, putItem } from '../storage/items.ts';
import { deletionKey, linkKey, unfinishedList } from '../storage/keys.ts';
import { readListInOrder, readMembers } from '../storage/lists.ts';

/** Milliseconds after which nobody works on something any longer: every function has been stopped long before. */
const underWayFor = 600_000;

const deletionItem = itemKind(
  v.object({
    login_user_id: v.string(),
    /** The party that asked for it. */
    by: v.picklist(['operator', 'person', 'provider']),
    list_position: v.string(),
  }),
  deletionKey,
);
const linkItem = itemKind(
  v.object({ login_user_id: v.string(), identity_id: v.string(), list_position: v.string() }),
  linkKey,
);

/** Mark of the deletion of a Login User: written before everything else and removed after it. */
export type DeletionMark = ItemOf<typeof deletionItem>;
/** Mark of the link of an identity: written before everything else and removed after it. */
export type LinkMark = ItemOf<typeof linkItem>;

const place = () => ({ list: unfinishedList, list_position: timestamp() });

export const markDeletion = (login_user_id: string, by: DeletionMark['by']): Promise<boolean> =>
  putItem(deletionItem(login_user_id), { login_user_id, by, ...place() });

export const unmarkDeletion = (loginUserId: string): Promise<void> => deleteItem(deletionKey(loginUserId));

/** Removes the mark of a deletion that never began, unless somebody has marked it again since. */
export const dropDeletionMark = ({ login_user_id, list_position }: DeletionMark): Promise<void> =>
  deleteItem(deletionKey(login_user_id), { list_position: { is: list_position } });

export const markLink = (login_user_id: string, identity_id: string): Promise<boolean> =>
  putItem(linkItem(login_user_id, identity_id), { login_user_id, identity_id, ...place() });

export const unmarkLink = (loginUserId: string, identityId: string): Promise<void> =>
  deleteItem(linkKey(loginUserId, identityId));

/** Pages of the marks that are older than ten minutes, the oldest first: of work that was interrupted. */
export async function* readInterrupted(): AsyncGenerator<(DeletionMark | LinkMark)[]> {
  const latest = new Date(clock.now().getTime() - underWayFor).toISOString();
  let start: Item | undefined;
  do {
    const { keys, next } = await readListInOrder(unfinishedList, { limit: 100, start });
    const marks = (await readMembers(keys)).map((item) =>
      v.parse(v.union([linkItem.schema, deletionItem.schema]), item),
    );
    const interrupted = marks.filter(({ list_position }) => list_position <= latest);
    yield interrupted;
    start = interrupted.length < marks.length ? undefined : next;
  } while (start);
}
