import * as v from 'valibot';
import { ServiceError } from '../service-error.ts';
import { type Item, readItems } from './items.ts';
import type { Key } from './keys.ts';
import { readListInOrder } from './lists.ts';

/** How many members a page has at most: as many as the store reads in one request. */
const pageSize = 100;

/** Where the next page begins: which of the lists, and the place in it where the store left off. */
const place = v.object({ list: v.number(), start: v.optional(v.record(v.string(), v.string())) });
type Place = v.InferOutput<typeof place>;

interface Page {
  items: Item[];
  /** For --after; absent on the last page. */
  next?: string;
}

/**
 * A page of up to 100 members of a list of the index `by_list`, which may be spread over several, one after the other.
 * The index only finds them; the items are read from the table.
 * @param prefix what their positions begin with
 * @throws ServiceError for an `after` that is not the `next` of such a page
 */
export async function readPage(
  lists: string | string[],
  after: string | undefined,
  prefix = '',
): Promise<Page> {
  const names = [lists].flat();
  const keys: Key[] = [];
  let next: Place | undefined = after === undefined ? { list: 0 } : readPlace(after);
  while (next && keys.length < pageSize) {
    const found = await readListInOrder(nameAt(names, next), {
      prefix,
      limit: pageSize - keys.length,
      start: next.start,
    });
    keys.push(...found.keys);
    next = following(names, next.list, found.next);
  }
  // An index that is just being written may show an item twice.
  const distinct = [...new Map(keys.map((key) => [`${key.pk}\n${key.sk}`, key])).values()];
  const items = (await readItems(distinct)).filter((item) => item !== undefined);
  return { items, ...(next && { next: writePlace(next) }) };
}

function nameAt(names: string[], { list, start }: Place): string {
  const name = names[list];
  if (name === undefined || (start && start.list !== name)) throw wrongPlace();
  return name;
}

function following(names: string[], list: number, start: Item | undefined): Place | undefined {
  if (start) return v.parse(place, { list, start });
  return list + 1 < names.length ? { list: list + 1 } : undefined;
}

const writePlace = (next: Place): string => Buffer.from(JSON.stringify(next)).toString('base64url');

function readPlace(text: string): Place {
  try {
    return v.parse(place, JSON.parse(Buffer.from(text, 'base64url').toString()));
  } catch {
    throw wrongPlace();
  }
}

const wrongPlace = (): ServiceError =>
  new ServiceError('invalid_request', '--after must be the next of the page before.');
