import { actorTypes, reviewStatuses } from '../../access-requests/event.ts';
import type { Command } from '../command.ts';
import { accessRequest } from './shared-flags.ts';

const event = {
  'access-request': accessRequest,
  'actor-type': { kind: 'choice', of: actorTypes, help: 'The kind of author' },
  'actor-id': { kind: 'text', help: "The author's id" },
} as const;

export const comments = {
  add: {
    summary: 'Add a comment to an access request',
    flags: { ...event, comment: { kind: 'text', mayBeEmpty: true, help: 'The comment; may be empty' } },
  },
} as const satisfies Record<string, Command>;

export const reviews = {
  add: {
    summary: 'Add a review to an access request',
    flags: {
      ...event,
      status: { kind: 'choice', of: reviewStatuses, help: 'The verdict' },
      comment: { kind: 'text', mayBeEmpty: true, help: 'A comment', optional: true },
    },
  },
} as const satisfies Record<string, Command>;

export const events = {
  list: {
    summary: 'List the events of an access request, 100 at a time, each with who wrote it',
    flags: {
      'access-request': accessRequest,
      after: { kind: 'number', help: 'The "next" of the previous page', optional: true },
    },
  },
  import: {
    summary: 'Add the comments and reviews of a file; run it again to continue after an interruption',
    flags: { events: { kind: 'lines', help: 'A file of JSON objects, one per line, like search results' } },
    files: { 'ids-from': 'Replace the access_request_id of each line by what this file says (optional)' },
  },
  export: {
    summary: 'Print the comments and reviews of an access request, as import reads them',
    flags: {
      'access-request': accessRequest,
      'after-event': { kind: 'number', help: 'Only those after this id', optional: true },
    },
    pages: { members: 'events', from: 'after-event' },
  },
} as const satisfies Record<string, Command>;
