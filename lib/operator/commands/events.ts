import { addEvents } from '../../access-requests/add-events.ts';
import { actorTypes, reviewStatuses } from '../../access-requests/event.ts';
import { importEvents } from '../../access-requests/import-events.ts';
import { newEventSchema } from '../../access-requests/new-event.ts';
import { exportEvents, listEvents } from '../../access-requests/search-events.ts';
import { importLinesSchema } from '../../schema/import-lines.ts';
import { invalidRequest, unprocessableEntity, validated } from '../../schema/validation.ts';
import { defineCommands } from '../command.ts';
import { choice, lines, number, optional, text, textOrNone } from '../flags.ts';
import { accessRequest, nextPage, requireAccessRequest } from './shared.ts';

const event = {
  'access-request': accessRequest,
  'actor-type': choice(actorTypes, 'The kind of author'),
  'actor-id': text("The author's id"),
};

async function add(flags: Record<string, unknown> & { 'access-request': number }, operator: string) {
  const { 'access-request': id, 'actor-type': actor_type, 'actor-id': actor_id, ...rest } = flags;
  const read = validated(newEventSchema, { ...rest, actor_type, actor_id }, unprocessableEntity);
  const [added] = await addEvents(await requireAccessRequest(id), [{ event: read, writer: { operator } }]);
  return { ...added?.event };
}

/** The columns of events as CSV. */
const eventColumns = [
  ...['id', 'access_request_id', 'type', 'actor_type', 'actor_id', 'status', 'counts'],
  ...['comment', 'created_at', 'updated_at'],
];

export const eventCommands = defineCommands({
  'comments add': {
    summary: 'Add a comment to an access request',
    flags: { ...event, comment: textOrNone('The comment; may be empty') },
    run: (flags, operator) => add({ ...flags, type: 'comment' }, operator),
  },
  'reviews add': {
    summary: 'Add a review to an access request',
    flags: {
      ...event,
      status: choice(reviewStatuses, 'The verdict'),
      comment: optional(textOrNone('A comment')),
    },
    run: (flags, operator) => add({ ...flags, type: 'review', comment: flags.comment ?? '' }, operator),
  },
  'events list': {
    summary: 'List the events of an access request, 100 at a time, each with who wrote it',
    flags: { 'access-request': accessRequest, after: optional(number(nextPage)) },
    run: async ({ 'access-request': id, after = 0 }) => {
      const { access_request_id, account_id, operator, created_at } = await requireAccessRequest(id);
      return { access_request_id, account_id, operator, created_at, ...(await listEvents(id, after)) };
    },
  },
  'events import': {
    summary: 'Add the comments and reviews of a file; run it again to continue after an interruption',
    flags: { events: lines('A file of JSON objects, one per line, like search results') },
    files: { 'ids-from': 'Replace the access_request_id of each line by what this file says (optional)' },
    run: async ({ events }, operator) => ({
      ...(await importEvents(validated(importLinesSchema, events, invalidRequest), { operator })),
    }),
  },
  'events export': {
    summary: 'Print the comments and reviews of an access request, as import reads them or for a spreadsheet',
    flags: {
      'access-request': accessRequest,
      'after-event': optional(number('Only those after this id')),
      format: optional(choice(['ndjson', 'csv'], 'JSON objects, one per line (default), or CSV (RFC 4180)')),
    },
    pages: { members: 'events', from: 'after-event', columns: eventColumns },
    run: async ({ 'access-request': id, 'after-event': after = 0 }) => {
      await requireAccessRequest(id);
      return { ...(await exportEvents(id, after)) };
    },
  },
});
