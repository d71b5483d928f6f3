import * as v from 'valibot';
import { type ImportLine, type ImportResult, type Read, readLine } from '../schema/import-lines.ts';
import { timeField } from '../schema/rfc3339.ts';
import { keyRequired } from '../schema/validation.ts';
import { hashOf } from '../storage/keys.ts';
import { readAccessRequest } from './access-request.ts';
import { appendEvents, type Draft } from './append-events.ts';
import type { Writer } from './event.ts';
import { newEventSchema, newReviewSchema } from './new-event.ts';

/** Fields of a line besides the event itself. An id is ignored: ids follow the order of the lines. */
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
/** A line whose type is unknown: its other errors are named too. */
const untypedSchema = v.intersect([lineSchema, v.omit(newReviewSchema, ['type', 'status'])]);
const anyLineSchema = v.lazy((input) => (v.is(typedSchema, input) ? lineSchema : untypedSchema));

/**
 * Adds events with their own times, within each access request in the order of the lines. A line that was imported
 * before adds nothing: its event carries the hash of the line's text.
 * @param writer who imports
 * @throws ServiceError when it has to stop; the events added so far stay, and the same lines can be sent again
 */
export async function importEvents(lines: ImportLine[], writer: Writer): Promise<ImportResult> {
  const result: ImportResult = { added: 0, repeated: 0, refused: [] };
  const drafts = new Map<number, { line: number; draft: Draft }[]>();
  for (const line of lines) {
    const read = readEvent(line, writer);
    if ('reason' in read) result.refused.push({ line: line.line, reason: read.reason });
    else {
      const others = drafts.get(read.content.accessRequestId) ?? [];
      drafts.set(read.content.accessRequestId, [...others, { line: line.line, draft: read.content.draft }]);
    }
  }
  await Promise.all(
    [...drafts].map(async ([accessRequestId, members]) => {
      if (!(await readAccessRequest(accessRequestId))) {
        const reason = 'There is no such access request.';
        result.refused.push(...members.map(({ line }) => ({ line, reason })));
        return;
      }
      const appended = await appendEvents(
        accessRequestId,
        members.map(({ draft }) => draft),
      );
      for (const { outcome } of appended) result[outcome] += 1;
    }),
  );
  result.refused.sort((a, b) => a.line - b.line);
  return result;
}

function readEvent(
  { text, repetition }: ImportLine,
  writer: Writer,
): Read<{ accessRequestId: number; draft: Draft }> {
  const read = readLine(text, anyLineSchema);
  if ('reason' in read) return read;
  const { access_request_id, created_at, updated_at, ...event } = read.content;
  const idempotencyKey = hashOf('import', text, String(repetition));
  const draft = { event, writer, idempotencyKey, created_at, updated_at };
  return { content: { accessRequestId: access_request_id, draft } };
}
