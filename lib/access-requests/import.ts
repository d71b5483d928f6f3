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
import { isMissing, isPlaceholder } from '../schema/placeholders.ts';
import { keyRequired } from '../schema/validation.ts';
import { forEachInBatches } from '../storage/batches.ts';
import { itemKind, readItem, readItems } from '../storage/items.ts';
import { hashOf, importedAccessRequestKey } from '../storage/keys.ts';
import { put } from '../storage/transactions.ts';
import { accessRequestItem, readAccessRequest, takeIds } from './access-request.ts';
import { accessItem } from './accesses.ts';
import { addEvents, type Draft, foreseeEvents } from './add-events.ts';
import {
  attributesFrom,
  create,
  creationError,
  creationOf,
  foreseeError,
  grantLeftOut,
  namesRequester,
  newAccessRequestFields,
  requesterMissing,
} from './create-access-request.ts';
import type { Writer } from './event.ts';
import { nameField, newEventSchema, newReviewSchema } from './new-event.ts';

/** A title as another system has it: its line breaks become spaces. */
const titleField = v.pipe(
  v.string('title must be a string.'),
  v.transform((text) => text.replaceAll(/\s+/g, ' ').trim()),
  nameField('title'),
);

const idMessage = 'id must be an integer or a string of 1 to 200 characters.';
const importedLineSchema = v.object(
  {
    /** The id of the access request in the system that it comes from. */
    id: v.pipe(
      v.union([v.pipe(v.number(), v.safeInteger()), v.string()], idMessage),
      v.transform(String),
      v.check((id) => id.isWellFormed() && id.length > 0 && id.length <= 200, idMessage),
      v.check((id) => !isPlaceholder(id), `id ${isMissing}`),
    ),
    created_at: timeField('created_at'),
    ...newAccessRequestFields,
    title: v.optional(titleField),
    reference: v.optional(
      v.pipe(
        nameField('reference'),
        v.check((text) => !isPlaceholder(text), `reference ${isMissing}`),
      ),
    ),
  },
  keyRequired(),
);
const lineOfRequestSchema = v.pipe(
  importedLineSchema,
  v.forward(
    v.check((line) => namesRequester(line), requesterMissing),
    ['self_review'],
  ),
);
type ImportedLine = v.InferOutput<typeof importedLineSchema>;

/** The memory of an import: which access request an id of the other system became. */
const importedItem = itemKind(
  v.object({ imported_id: v.string(), access_request_id: v.number() }),
  (accountId: string, id: string) => importedAccessRequestKey(accountId, hashOf(id)),
);

interface Options {
  /** Whether to write nothing, and compare each line with what is stored. */
  dryRun: boolean;
}

/**
 * Creates an access request for each line, unless the account has imported one with this id before,
 * each in one transaction with the memory of its id.
 * @returns also the ids that the access requests had and have
 * @throws ServiceError when it has to stop; what was created so far stays, and the same lines can
 *   be sent again
 */
export async function importAccessRequests(
  accountId: string,
  lines: ImportLine[],
  operator: string,
  { dryRun }: Options,
) {
  const { read, result, note } = readLines(lines, lineOfRequestSchema);
  const wanted = [...new Set(read.map(({ content }) => content.id))];
  const found = await readItems(wanted.map((id) => importedItem(accountId, id)));
  const known = found.filter((item) => item !== undefined);
  const ids = new Map(known.map((item) => [item.imported_id, item.access_request_id]));

  if (dryRun) {
    for (const { line, content } of read) {
      const isKnown = ids.has(content.id);
      note(line, isKnown ? 'repeated' : await foresee(accountId, content));
    }
    return { ...result, ids: [] };
  }

  await grantAllLeftOut(accountId, [...ids.values()]);
  const missing = wanted.filter((id) => !ids.has(id));
  const firstId = missing.length > 0 ? await takeIds(missing.length) : 0;
  for (const { line, content } of read) {
    if (ids.has(content.id)) {
      note(line, 'repeated');
      continue;
    }
    // The same for all lines with this id: the first of them may be refused.
    const newId = firstId + missing.indexOf(content.id);
    const imported = createImported(accountId, content, operator, newId, ids);
    note(line, await imported.catch(refusal));
  }
  const idPairs = [...ids].map(([id, access_request_id]) => ({ id, access_request_id }));
  return { ...result, ids: idPairs };
}

/** The outcome that the import of an access request would have. */
async function foresee(account_id: string, line: ImportedLine): Promise<LineOutcome> {
  const { id, created_at, ...fields } = line;
  const error = await foreseeError({ ...attributesFrom(fields), account_id });
  return error ? refusal(error) : 'added';
}

export const findImported = async (accountId: string, id: string): Promise<number | undefined> =>
  (await readItem(importedItem(accountId, id)))?.access_request_id;

/** Gives the account each access that an interrupted import by 1.0.0 has left out. */
async function grantAllLeftOut(accountId: string, ids: number[]): Promise<void> {
  const requests = await readItems(ids.map((id) => accessRequestItem(id)));
  const accesses = await readItems(ids.map((id) => accessItem(id, accountId)));
  await forEachInBatches([...requests.entries()], async ([position, request]) => {
    if (request) await grantLeftOut(request, accesses[position]);
  });
}

/**
 * Creates the access request of a line.
 * @param newId its id here
 * @param ids gets the id under which the access request is imported
 */
async function createImported(
  accountId: string,
  line: ImportedLine,
  operator: string,
  newId: number,
  ids: Map<string, number>,
): Promise<LineOutcome> {
  const { id, created_at = timestamp(), ...fields } = line;
  const creation = creationOf({
    ...attributesFrom(fields),
    access_request_id: newId,
    account_id: accountId,
    operator,
    created_at,
  });
  const key = importedItem(accountId, id);
  const memory = { imported_id: id, access_request_id: newId };
  const memoryWrite = put(key, memory, { pk: { exists: false } });

  const failed = await create(creation, memoryWrite);
  if (!failed) {
    ids.set(id, newId);
    return 'added';
  }
  const byOther = failed.get(memoryWrite);
  if (!byOther) throw creationError(creation, failed);
  // Another import of the same id was faster.
  ids.set(id, key.parse(byOther).access_request_id);
  return 'repeated';
}

/**
 * The fields of a line that are no part of the event. The id of a line is ignored: new ids follow
 * the order of the lines.
 */
const circumstancesSchema = v.object(
  {
    access_request_id: v.pipe(
      v.number(
        'access_request_id must be a number; --ids-from replaces the ids of another system.',
      ),
      v.safeInteger('access_request_id must be an integer.'),
    ),
    created_at: timeField('created_at'),
    updated_at: timeField('updated_at'),
  },
  keyRequired(),
);

const lineSchema = v.pipe(
  v.intersect([circumstancesSchema, newEventSchema]),
  // Actors who share an id would count as one in a decision.
  v.forward(
    v.check(({ actor_id }) => !isPlaceholder(actor_id), `actor_id ${isMissing}`),
    ['actor_id'],
  ),
);
const typedSchema = v.object({ type: v.picklist(['comment', 'review']) });
/** A line of unknown type, for its other errors. */
const untypedSchema = v.intersect([lineSchema, v.omit(newReviewSchema, ['type', 'status'])]);
const anyLineSchema = v.lazy((input) => (v.is(typedSchema, input) ? lineSchema : untypedSchema));

/**
 * Adds events with their own times, in the order of the lines of each access request. A line that
 * was imported before adds nothing: its event has the hash of the line's text as its idempotency
 * key.
 * @throws ServiceError when it has to stop; the events added so far stay, and the same lines can be
 *   sent again
 */
export async function importEvents(
  lines: ImportLine[],
  writer: Writer,
  { dryRun }: Options,
): Promise<ImportResult> {
  const { read, result, note } = readLines(lines, anyLineSchema);
  const groups = Map.groupBy(read, ({ content }) => content.access_request_id);
  const importGroup = async ([id, group]: [number, typeof read]) => {
    const request = await readAccessRequest(id);
    const drafts = group.map(({ text, repetition, content }): Draft => {
      const { access_request_id, created_at, updated_at, ...event } = content;
      const idempotencyKey = hashOf('import', text, String(repetition));
      return { event, writer, idempotencyKey, created_at, updated_at };
    });
    const add = dryRun ? foreseeEvents : addEvents;
    const added = request ? await add(request, drafts) : [];
    for (const [position, { line }] of group.entries()) {
      const unknown = { reason: 'There is no such access request.' };
      note(line, added[position]?.outcome ?? unknown);
    }
  };
  await Promise.all([...groups].map(importGroup));
  return result;
}
