import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import {
  type ImportLine,
  type ImportResult,
  type LineOutcome,
  readLines,
  refusal,
} from '../schema/import-lines.ts';
import { timeField } from '../schema/json-schema.ts';
import { keyRequired } from '../schema/validation.ts';
import { forEachInBatches } from '../storage/batches.ts';
import { claimItem, itemKind, readItem, readItems } from '../storage/items.ts';
import { hashOf, importedAccessRequestKey } from '../storage/keys.ts';
import { idIsTaken, putAccessRequest, readAccessRequest, takeIds } from './access-request.ts';
import { readMarks, readTruths, refreshLists } from './account-lists.ts';
import { addEvents, type Draft } from './add-events.ts';
import {
  attributesOf,
  claimReference,
  grantAccess,
  newAccessRequestFields,
} from './create-access-request.ts';
import type { Writer } from './event.ts';
import { newEventSchema, newReviewSchema } from './new-event.ts';

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
    ...newAccessRequestFields,
  },
  keyRequired(),
);
type ImportedLine = v.InferOutput<typeof importedLineSchema>;

/** The memory of an import: which access request an id of the other system became. */
const importedItem = itemKind(
  v.object({ imported_id: v.string(), access_request_id: v.number() }),
  (accountId: string, id: string) => importedAccessRequestKey(accountId, hashOf(id)),
);

/**
 * Creates an access request for each line, unless the account has imported one with this id before. Once it is created, one
 * conditional write claims the id, and access is given last: an interruption leaves at most one that nobody has access to.
 * @returns also the ids that the access requests had and have
 * @throws ServiceError when it has to stop; what was created so far stays, and the same lines can be sent again
 */
export async function importAccessRequests(accountId: string, lines: ImportLine[], operator: string) {
  const { read, result, note } = readLines(lines, importedLineSchema);
  const wanted = [...new Set(read.map(({ content }) => content.id))];
  const found = await readItems(wanted.map((id) => importedItem(accountId, id)));
  const known = found.filter((item) => item !== undefined);
  const ids = new Map(known.map((item) => [item.imported_id, item.access_request_id]));
  await grantMissing(accountId, [...ids.values()]);
  const missing = wanted.filter((id) => !ids.has(id));
  const firstId = missing.length > 0 ? await takeIds(missing.length) : 0;
  for (const { line, content } of read) {
    // The same for all lines with this id: the first of them may be refused.
    const newId = firstId + missing.indexOf(content.id);
    const isKnown = ids.has(content.id);
    const made = isKnown ? 'repeated' : create(accountId, content, operator, newId, ids).catch(refusal);
    note(line, await made);
  }
  const made = new Set(ids.values());
  const marks = (await readMarks(accountId)).filter((mark) => made.has(mark.access_request_id));
  await refreshLists(accountId, [...made], marks);
  return { ...result, ids: [...ids].map(([id, access_request_id]) => ({ id, access_request_id })) };
}

export const findImported = async (accountId: string, id: string): Promise<number | undefined> =>
  (await readItem(importedItem(accountId, id)))?.access_request_id;

/** Gives the account the accesses that an interrupted import has not given, but none that an operator took away. */
async function grantMissing(accountId: string, ids: number[]): Promise<void> {
  const truths = await readTruths(accountId, ids, () => false);
  await forEachInBatches([...truths.values()], async ({ request, hasAccess }) => {
    if (request && !hasAccess && request.creator_revoked_at === undefined)
      await grantAccess(request, accountId);
  });
}

/** @param ids gets the id under which the access request is imported */
async function create(
  accountId: string,
  { id, created_at = timestamp(), ...fields }: ImportedLine,
  operator: string,
  access_request_id: number,
  ids: Map<string, number>,
): Promise<LineOutcome> {
  const own = { ...attributesOf(fields), access_request_id, account_id: accountId, operator, created_at };
  await claimReference(own);
  if (!(await putAccessRequest(own))) throw idIsTaken(access_request_id);
  const claim = await claimItem(importedItem(accountId, id), { imported_id: id, access_request_id });
  ids.set(id, claim.access_request_id);
  const isNew = claim.access_request_id === access_request_id;
  await (isNew ? grantAccess(own, accountId, 'new') : grantMissing(accountId, [claim.access_request_id]));
  return isNew ? 'added' : 'repeated';
}

/** Fields of a line besides the event itself. Its id is ignored: ids follow the order of the lines. */
const circumstancesSchema = v.object(
  {
    access_request_id: v.pipe(
      v.number('access_request_id must be a number; --ids-from replaces the ids of another system.'),
      v.safeInteger('access_request_id must be an integer.'),
    ),
    created_at: timeField('created_at'),
    updated_at: timeField('updated_at'),
  },
  keyRequired(),
);

const lineSchema = v.intersect([circumstancesSchema, newEventSchema]);
const typedSchema = v.object({ type: v.picklist(['comment', 'review']) });
/** A line of unknown type, for its other errors. */
const untypedSchema = v.intersect([lineSchema, v.omit(newReviewSchema, ['type', 'status'])]);
const anyLineSchema = v.lazy((input) => (v.is(typedSchema, input) ? lineSchema : untypedSchema));

/**
 * Adds events with their own times, in the order of the lines of each access request. A line that was imported before adds
 * nothing: its event has the hash of the line's text as its idempotency key.
 * @throws ServiceError when it has to stop; the events added so far stay, and the same lines can be sent again
 */
export async function importEvents(lines: ImportLine[], writer: Writer): Promise<ImportResult> {
  const { read, result, note } = readLines(lines, anyLineSchema);
  const groups = Map.groupBy(read, ({ content }) => content.access_request_id);
  await Promise.all(
    [...groups].map(async ([accessRequestId, group]) => {
      const request = await readAccessRequest(accessRequestId);
      const drafts = group.map(({ text, repetition, content }): Draft => {
        const { access_request_id, created_at, updated_at, ...event } = content;
        const idempotencyKey = hashOf('import', text, String(repetition));
        return { event, writer, idempotencyKey, created_at, updated_at };
      });
      const appended = request && (await addEvents(request, drafts));
      for (const [place, { line }] of group.entries())
        note(line, appended?.[place]?.outcome ?? { reason: 'There is no such access request.' });
    }),
  );
  return result;
}
