import * as v from 'valibot';
import { ServiceError } from '../service-error.ts';
import { hashOf } from '../storage/keys.ts';
import { keyRequired, unprocessableEntity, validated } from '../validation.ts';
import { readAccessRequest } from './access-request.ts';
import { appendEvents, type Draft } from './append-events.ts';
import type { ImportLine, ImportResult } from './import-lines.ts';
import { newEvent } from './new-event.ts';
import { utcTimestamp } from './rfc3339.ts';
import type { Writer } from './writer.ts';

const time = (name: string) =>
  v.optional(
    v.pipe(
      v.string(`${name} must be a string.`),
      v.transform(utcTimestamp),
      v.string(`${name} must be an RFC 3339 time of a real calendar date, such as 2024-05-02T08:00:00Z.`),
    ),
  );

/** What a line has besides the event itself. An id is ignored: ids follow the order of the lines. */
const circumstances = v.object(
  {
    access_request_id: v.pipe(
      v.number('access_request_id must be a number.'),
      v.safeInteger('access_request_id must be an integer.'),
    ),
    created_at: time('created_at'),
    updated_at: time('updated_at'),
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
    const read = readLine(line, writer);
    if ('reason' in read) result.refused.push({ line: line.line, reason: read.reason });
    else {
      const others = drafts.get(read.accessRequestId) ?? [];
      drafts.set(read.accessRequestId, [...others, { line: line.line, draft: read.draft }]);
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

function readLine(
  { text, repetition }: ImportLine,
  writer: Writer,
): { accessRequestId: number; draft: Draft } | { reason: string } {
  try {
    const content: unknown = JSON.parse(text);
    const { access_request_id, ...times } = validated(circumstances, content, unprocessableEntity);
    const event = validated(newEvent, content, unprocessableEntity);
    const idempotencyKey = hashOf('import', text, String(repetition));
    return { accessRequestId: access_request_id, draft: { event, writer, idempotencyKey, ...times } };
  } catch (error) {
    if (error instanceof SyntaxError) return { reason: 'The line is not JSON.' };
    if (error instanceof ServiceError) return { reason: error.message };
    throw error;
  }
}
