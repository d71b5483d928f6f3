/** How many members a page has at most. */
const pageSize = 100;

/**
 * A page of members that one query has read, sorted by id.
 * @param after the `next` of the page before: the last id on it
 */
export function pageOf<Member>(
  members: Iterable<Member>,
  idOf: (member: Member) => string,
  after: string | undefined,
): { page: Member[]; next?: string } {
  const rest = [...members].filter((member) => after === undefined || idOf(member) > after);
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  return { page, ...(last && rest.length > pageSize && { next: idOf(last) }) };
}
