import * as v from 'valibot';
import { invalid } from '../foundation/service-error.ts';
import type { Item } from '../storage/items.ts';
import { readGlobalList, readMembers } from '../storage/lists.ts';

/** The most members of a page: as many as the store reads in one request. */
const pageSize = 100;

/** The place at which a list goes on, in the words of whoever reads it. */
const startSchema = v.record(v.string(), v.string());

/** The beginning of the next page: one of the lists, and the place in it, absent for its first member. */
const placeSchema = v.object({
  list: v.pipe(v.number(), v.integer(), v.minValue(0)),
  start: v.optional(startSchema),
});
type Place = v.InferOutput<typeof placeSchema>;
type Start = Place['start'];

/**
 * A page of up to 100 members of several lists, one after the other, and for `--after` where the next page begins; absent on the last page.
 * @param count how many lists there are
 * @param read up to `limit` members of a list, and where it goes on; undefined at its end
 * @throws ServiceError for an `after` that is not the `next` of such a page
 */
export async function readPageAcross<Member>(
  count: number,
  after: string | undefined,
  read: (list: number, from: { limit: number; start: Start }) => Promise<{ members: Member[]; next: Start }>,
) {
  const members: Member[] = [];
  let next: Place | undefined = after === undefined ? { list: 0 } : readPlace(after, count);
  while (next && members.length < pageSize) {
    const { list }: Place = next;
    const found = await read(list, { limit: pageSize - members.length, start: next.start });
    members.push(...found.members);
    if (found.next) next = { list, start: found.next };
    else next = list + 1 < count ? { list: list + 1 } : undefined;
  }
  return { members, next: next && Buffer.from(JSON.stringify(next)).toString('base64url') };
}

/**
 * A page of the index `by_list`, for one list or several.
 * @param prefix what their positions begin with
 * @throws ServiceError for an `after` that is not the `next` of such a page
 */
export async function readPage(lists: string | string[], after: string | undefined, prefix = '') {
  const names = [lists].flat();
  const { members, ...page } = await readPageAcross<Item>(names.length, after, async (list, from) => {
    const name = names[list] ?? '';
    if (from.start && from.start.list !== name) throw wrongPlace();
    const { items, next } = await readGlobalList('by_list', name, { prefix, order: 'ascending', ...from });
    return { members: items, next: next && v.parse(startSchema, next) };
  });
  return { items: await readMembers(members), ...page };
}

/**
 * A page of members that are read already, sorted by id.
 * @param after the `next` of the page before: the last id on it
 */
export function pageOf<Member>(members: Iterable<Member>, idOf: (member: Member) => string, after?: string) {
  const rest = [...members].filter((member) => after === undefined || idOf(member) > after);
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  return { page, next: last && rest.length > pageSize ? idOf(last) : undefined };
}

function readPlace(text: string, count: number): Place {
  try {
    const found = v.parse(placeSchema, JSON.parse(Buffer.from(text, 'base64url').toString()));
    if (found.list < count) return found;
  } catch {}
  throw wrongPlace();
}

/** The error for a `start` that the reader of a list did not write. */
export const wrongPlace = () => invalid('--after must be the next of the page before.');
