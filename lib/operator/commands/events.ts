import { addEvent } from '../../access-requests/append-events.ts';
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
  await requireAccessRequest(id);
  return addEvent(id, read, { operator });
}

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
    run: async ({ 'access-request': id, after = 0 }) => ({
      ...(await requireAccessRequest(id)),
      ...(await listEvents(id, after)),
    }),
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
    summary: 'Print the comments and reviews of an access request, as import reads them',
    flags: { 'access-request': accessRequest, 'after-event': optional(number('Only those after this id')) },
    pages: { members: 'events', from: 'after-event' },
    run: async ({ 'access-request': id, 'after-event': after = 0 }) => {
      await requireAccessRequest(id);
      return { ...(await exportEvents(id, after)) };
    },
  },
});
