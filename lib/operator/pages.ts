import * as v from 'valibot';
import { invalid } from '../foundation/service-error.ts';
import { readGlobalList, readMembers } from '../storage/lists.ts';

/** The most members of a page: as many as the store reads in one request. */
const pageSize = 100;

/** The place at which a list goes on, in the words of its reader. */
const startSchema = v.record(v.string(), v.string());

/**
 * The beginning of the next page: the index of a list, and the place in it, absent for its first
 * member.
 */
const placeSchema = v.object({ list: v.number(), start: v.optional(startSchema) });
type Place = v.InferOutput<typeof placeSchema>;
type Start = Place['start'];

/**
 * Reads a page of up to 100 members of several lists, one after the other.
 * @param read up to `limit` members of a list, and where it goes on; undefined at its end
 * @returns the members, and what `--after` takes for the next page; undefined on the last
 * @throws ServiceError for an `after` that is not the `next` of such a page
 */
export async function readPageAcross<List, Member>(
  lists: readonly List[],
  after: string | undefined,
  read: (
    list: List,
    from: { limit: number; start: Start },
  ) => Promise<{ members: Member[]; next: Start }>,
) {
  const members: Member[] = [];
  let next: Place | undefined = after === undefined ? { list: 0 } : readPlace(after);
  while (next && members.length < pageSize) {
    const { list: index, start }: Place = next;
    const list = lists[index];
    if (list === undefined) throw wrongPlace();
    const found = await read(list, { limit: pageSize - members.length, start });
    members.push(...found.members);
    if (found.next) next = { list: index, start: found.next };
    else next = index + 1 < lists.length ? { list: index + 1 } : undefined;
  }
  return { members, next: next && Buffer.from(JSON.stringify(next)).toString('base64url') };
}

function readPlace(text: string): Place {
  try {
    return v.parse(placeSchema, JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    throw wrongPlace();
  }
}

/** The error for a `start` that the reader of a list did not write. */
export const wrongPlace = () => invalid('--after must be the next of the page before.');

/**
 * Reads a page of lists in the index `by_list`.
 * @param prefix of the positions
 * @throws ServiceError as readPageAcross does
 */
export async function readPage(lists: string | string[], after: string | undefined, prefix = '') {
  const { members, ...page } = await readPageAcross([lists].flat(), after, async (list, from) => {
    if (from.start && from.start.list !== list) throw wrongPlace();
    const { items, next } = await readGlobalList('by_list', list, {
      prefix,
      order: 'ascending',
      ...from,
    });
    return { members: items, next: next && v.parse(startSchema, next) };
  });
  return { items: await readMembers(members), ...page };
}

/**
 * Sorts what a page shows as a person sorts names: `Demo` before `Demo without providers`. The
 * positions in the index, which divide the list into pages, have an id after the name, so it is
 * the other way round there.
 */
export function sortedByName<Named extends { name: string }>(shown: Named[]): Named[] {
  const names = new Intl.Collator('en');
  return shown.toSorted((one, other) => names.compare(one.name, other.name));
}

/**
 * Picks a page of members that are sorted by id.
 * @param after the `next` of the page before: its last id
 */
export function pageOf<Member>(
  members: Iterable<Member>,
  idOf: (member: Member) => string,
  after?: string,
) {
  const rest = [...members].filter((member) => after === undefined || idOf(member) > after);
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  return { page, next: last && rest.length > pageSize ? idOf(last) : undefined };
}
