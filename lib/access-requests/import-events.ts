import * as v from 'valibot';
import { type ImportLine, type ImportResult, type Read, readLine } from '../schema/import-lines.ts';
import { timeField } from '../schema/rfc3339.ts';
import { keyRequired, unprocessableEntity, validated } from '../schema/validation.ts';
import { hashOf } from '../storage/keys.ts';
import { readAccessRequest } from './access-request.ts';
import { appendEvents, type Draft } from './append-events.ts';
import { newEventSchema } from './new-event.ts';
import type { Writer } from './writer.ts';

/** Fields of a line besides the event itself. An id is ignored: ids follow the order of the lines. */
const circumstancesSchema = v.object(
  {
    access_request_id: v.pipe(
      v.number('access_request_id must be a number.'),
      v.safeInteger('access_request_id must be an integer.'),
    ),
    created_at: timeField('created_at'),
    updated_at: timeField('updated_at'),
  },
  (issue) => (issue.path ? keyRequired()(issue) : 'The line must be a JSON object.'),
);

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

const readEvent = (
  { text, repetition }: ImportLine,
  writer: Writer,
): Read<{ accessRequestId: number; draft: Draft }> =>
  readLine(text, (content) => {
    const { access_request_id, ...times } = validated(circumstancesSchema, content, unprocessableEntity);
    const event = validated(newEventSchema, content, unprocessableEntity);
    const idempotencyKey = hashOf('import', text, String(repetition));
    return { accessRequestId: access_request_id, draft: { event, writer, idempotencyKey, ...times } };
  });
