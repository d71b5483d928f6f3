import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { type ImportLine, type ImportResult, readLines } from '../schema/import-lines.ts';
import { timeField } from '../schema/rfc3339.ts';
import { keyRequired } from '../schema/validation.ts';
import { itemKind, readItem, readItems, updateItem } from '../storage/items.ts';
import { hashOf, importedAccessRequestKey } from '../storage/keys.ts';
import { accessItem, accessRequestItem, grantAccess, putUnderTakenId, takeIds } from './access-request.ts';

const idMessage = 'id must be an integer or a string of 1 to 200 characters.';
const importedLineSchema = v.object(
  {
    /** The id of the access request in the system that it comes from. */
    id: v.pipe(
      v.union([v.pipe(v.number(), v.safeInteger()), v.string()], idMessage),
      v.transform(String),
      v.check((id) => id.isWellFormed() && id.length > 0 && id.length <= 200, idMessage),
    ),
    created_at: timeField('created_at'),
  },
  keyRequired(),
);
type ImportedLine = v.InferOutput<typeof importedLineSchema>;

/** The item by which an import remembers an access request, for good. */
const importedItem = itemKind(
  v.object({ imported_id: v.string(), access_request_id: v.number() }),
  (accountId: string, id: string) => importedAccessRequestKey(accountId, hashOf(id)),
);

/** The result of an import, with the ids that the access requests had and have. */
interface AccessRequestsImport extends ImportResult {
  ids: { id: string; access_request_id: number }[];
}

/**
 * Creates an access request for each line, unless the account has imported one with this id before. After an
 * interruption the same lines can be sent again: the id is claimed by one conditional write after the access request is
 * created, and access is given last. A crash before the claim, or another import at the same time, leaves an empty access
 * request that nobody has access to.
 * @throws ServiceError when it has to stop; what was created so far stays
 */
export async function importAccessRequests(
  accountId: string,
  lines: ImportLine[],
  operator: string,
): Promise<AccessRequestsImport> {
  const { read, result } = readLines(lines, importedLineSchema);
  const wanted = read.map(({ content }) => content);
  const ids = await readImported(accountId, wanted);
  await grantMissing(accountId, [...ids.values()]);
  const missing = new Set(wanted.map(({ id }) => id).filter((id) => !ids.has(id)));
  let nextId = missing.size > 0 ? await takeIds(missing.size) : 0;
  for (const imported of wanted) {
    const isKnown = ids.has(imported.id);
    const made = isKnown ? undefined : await create(accountId, imported, operator, nextId++);
    if (made) ids.set(imported.id, made.access_request_id);
    result[made?.isNew ? 'added' : 'repeated'] += 1;
  }
  return { ...result, ids: [...ids].map(([id, access_request_id]) => ({ id, access_request_id })) };
}

/** The access request that an account has imported with an id; undefined when there is none. */
export const findImported = async (accountId: string, id: string): Promise<number | undefined> =>
  (await readItem(importedItem(accountId, id)))?.access_request_id;

async function readImported(accountId: string, wanted: ImportedLine[]): Promise<Map<string, number>> {
  const ids = [...new Set(wanted.map(({ id }) => id))];
  const items = await readItems(ids.map((id) => importedItem(accountId, id)));
  const known = items.filter((item) => item !== undefined);
  return new Map(known.map(({ imported_id, access_request_id }) => [imported_id, access_request_id]));
}

/** Gives the account the accesses that an import which was interrupted has not given, and none that an operator took away. */
async function grantMissing(accountId: string, ids: number[]): Promise<void> {
  const accesses = await readItems(ids.map((id) => accessItem(id, accountId)));
  const missing = ids.filter((_, place) => accesses[place] === undefined);
  const items = await readItems(missing.map((id) => accessRequestItem(id)));
  const neverGiven = missing.filter((_, place) => items[place]?.creator_revoked_at === undefined);
  await Promise.all(neverGiven.map((id) => grantAccess(id, accountId)));
}

async function create(
  accountId: string,
  { id, created_at = timestamp() }: ImportedLine,
  operator: string,
  access_request_id: number,
): Promise<{ access_request_id: number; isNew: boolean }> {
  await putUnderTakenId({ access_request_id, account_id: accountId, operator, created_at });
  const claim = await updateItem(importedItem(accountId, id), {
    set: { imported_id: id, access_request_id },
    when: { pk: { exists: false } },
  });
  const claimed = claim.done ? access_request_id : importedItem.parse(claim.found ?? {}).access_request_id;
  await grantAccess(claimed, accountId);
  return { access_request_id: claimed, isNew: claim.done };
}
