import * as v from 'valibot';
import { type ImportLine, type ImportResult, readLines } from '../schema/import-lines.ts';
import { timeField } from '../schema/rfc3339.ts';
import { keyRequired } from '../schema/validation.ts';
import { hashOf } from '../storage/keys.ts';
import { readAccessRequest } from './access-request.ts';
import { addEvents } from './add-events.ts';
import type { Draft } from './append-events.ts';
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
  const { read, result } = readLines(lines, anyLineSchema);
  const groups = Map.groupBy(read, ({ content }) => content.access_request_id);
  await Promise.all(
    [...groups].map(async ([accessRequestId, group]) => {
      const request = await readAccessRequest(accessRequestId);
      if (!request) {
        const reason = 'There is no such access request.';
        result.refused.push(...group.map(({ line }) => ({ line, reason })));
        return;
      }
      const drafts = group.map(({ text, repetition, content }): Draft => {
        const { access_request_id, created_at, updated_at, ...event } = content;
        const idempotencyKey = hashOf('import', text, String(repetition));
        return { event, writer, idempotencyKey, created_at, updated_at };
      });
      for (const { outcome } of await addEvents(request, drafts)) result[outcome] += 1;
    }),
  );
  result.refused.sort((a, b) => a.line - b.line);
  return result;
}
