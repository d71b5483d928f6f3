import {
  type AccessRequest,
  accessRequestItem,
  eventLists,
} from '../../access-requests/access-request.ts';
import {
  accessItem,
  grantAccess,
  readAccesses,
  revokeAccess,
} from '../../access-requests/accesses.ts';
import { addEvents } from '../../access-requests/add-events.ts';
import { createAccessRequest } from '../../access-requests/create-access-request.ts';
import { currentOf } from '../../access-requests/decision.ts';
import { actorTypes, reviewStatuses } from '../../access-requests/event.ts';
import { findImported, importAccessRequests, importEvents } from '../../access-requests/import.ts';
import { newEventSchema } from '../../access-requests/new-event.ts';
import { readShown } from '../../access-requests/search-access-requests.ts';
import { listEvents } from '../../access-requests/search-events.ts';
import { shown } from '../../access-requests/shown-access-request.ts';
import { listAgain } from '../../access-requests/store-decision.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { unprocessableEntity, validated } from '../../schema/validation.ts';
import { forEachInBatches } from '../../storage/batches.ts';
import { accessRequestsList, accessRequestsOfAccountList } from '../../storage/keys.ts';
import { readLastOrdinal } from '../../storage/lists.ts';
import { choice, defineCommands, lines, number, optional, text, textOrNone } from '../command.ts';
import { readPage } from '../pages.ts';
import { accessRequest, account, accountId, after, dryRun, nextPage } from './shared.ts';

const event = {
  'access-request': accessRequest,
  'actor-type': choice(actorTypes, 'The kind of author'),
  'actor-id': text("The author's id"),
};

async function add(
  flags: Record<string, unknown> & { 'access-request': AccessRequest },
  operator: string,
) {
  const {
    'access-request': request,
    'actor-type': actor_type,
    'actor-id': actor_id,
    ...rest
  } = flags;
  const read = validated(newEventSchema, { ...rest, actor_type, actor_id }, unprocessableEntity);
  const [added] = await addEvents(request, [{ event: read, writer: { operator } }]);
  return { ...added?.event };
}

/** The columns of events as CSV. */
const eventColumns = [
  'id',
  'access_request_id',
  'type',
  'actor_type',
  'actor_id',
  'status',
  'counts',
  'comment',
  'created_at',
  'updated_at',
];

export const accessRequestCommands = defineCommands({
  'access-requests list': {
    summary: 'List the access requests that an account has access to',
    flags: { account, after },
    run: async ({ account: { account_id }, after }) => {
      const { items, ...page } = await readPage(accessRequestsOfAccountList(account_id), after);
      const accesses = items.map(accessItem.parse);
      const ids = accesses.map((access) => access.access_request_id);
      const found = await readShown(account_id, ids);
      const access_requests = accesses.map(({ access_request_id, granted_at }) => {
        const request = found.find((one) => one.id === access_request_id);
        const { id, created_at, ...fields } = request ?? {};
        return { access_request_id, granted_at, ...fields };
      });
      return { account_id, access_requests, ...page };
    },
  },
  'access-requests show': {
    summary:
      'Show an access request, its decision, who has access to it and how many events it has',
    flags: { 'access-request': accessRequest },
    run: async ({ 'access-request': found }) => {
      const request = await currentOf(found);
      const { access_request_id, account_id, operator } = request;
      const { id, ...fields } = shown(request);
      const [accesses, events] = await Promise.all([
        readAccesses(id),
        readLastOrdinal(eventLists(id).all),
      ]);
      const accounts = accesses.map(({ account_id, granted_at }) => ({ account_id, granted_at }));
      return { access_request_id, account_id, operator, ...fields, events, accounts };
    },
  },
  'access-requests find': {
    summary: 'Show the access request that an import created for an external id',
    flags: { account, 'imported-id': text('Its id in the system that it came from') },
    run: async ({ account: { account_id }, 'imported-id': importedId }) => {
      const access_request_id = await findImported(account_id, importedId);
      if (access_request_id !== undefined) return { account_id, access_request_id };
      throw new ServiceError(
        'not_found',
        'The account has imported no access request with this id.',
      );
    },
  },
  'access-requests create': {
    summary: 'Create an access request that an account has access to',
    flags: { account },
    run: async ({ account: { account_id } }, operator) => {
      const { access_request_id, created_at } = await createAccessRequest({ account_id, operator });
      return { access_request_id, account_id, created_at };
    },
  },
  'access-requests import': {
    summary:
      'Create an access request for each line of a file; run it again to continue after an interruption',
    flags: {
      account,
      'access-requests': lines('A file of JSON objects, one per line, with id and created_at'),
      'dry-run': dryRun,
    },
    files: { 'ids-to': 'Write which id became which to this file, for events import (optional)' },
    run: (
      { account: { account_id }, 'access-requests': lines, 'dry-run': dryRun = false },
      operator,
    ) => importAccessRequests(account_id, lines, operator, { dryRun }),
  },
  'access-requests index': {
    summary:
      'Put the access requests of older versions into the lists of accounts; it can be run again any time',
    flags: { after },
    pages: { members: 'indexed', from: 'after' },
    run: async ({ after }) => {
      const { items, ...page } = await readPage(accessRequestsList, after);
      const requests = items.map(accessRequestItem.parse);
      await forEachInBatches(requests, listAgain);
      const last_id = requests.at(-1)?.access_request_id;
      return { indexed: [{ access_requests: requests.length, last_id }], ...page };
    },
  },
  'access-requests grant': {
    summary: 'Give an account access to an access request',
    flags: { 'access-request': accessRequest, account },
    run: async ({ 'access-request': request, account: { account_id } }) => {
      await grantAccess(request, account_id);
      return { access_request_id: request.access_request_id, account_id, access: true };
    },
  },
  'access-requests revoke': {
    summary: "Remove an account's access to an access request",
    flags: { 'access-request': accessRequest, account: accountId },
    run: async ({ 'access-request': request, account: account_id }) => {
      await revokeAccess(request, account_id);
      return { access_request_id: request.access_request_id, account_id, access: false };
    },
  },
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
    run: (flags, operator) =>
      add({ ...flags, type: 'review', comment: flags.comment ?? '' }, operator),
  },
  'events list': {
    summary: 'List the events of an access request, 100 at a time, each with who wrote it',
    flags: { 'access-request': accessRequest, after: optional(number(nextPage)) },
    run: async ({ 'access-request': request, after = 0 }) => {
      const { access_request_id: id, account_id, operator, created_at } = request;
      return {
        access_request_id: id,
        account_id,
        operator,
        created_at,
        ...(await listEvents(id, after)),
      };
    },
  },
  'events import': {
    summary:
      'Add the comments and reviews of a file; run it again to continue after an interruption',
    flags: {
      events: lines('A file of JSON objects, one per line, like search results'),
      'dry-run': dryRun,
    },
    files: {
      'ids-from': 'Replace the access_request_id of each line by what this file says (optional)',
    },
    run: ({ events, 'dry-run': dryRun = false }, operator) =>
      importEvents(events, { operator }, { dryRun }),
  },
  'events export': {
    summary:
      'Print the comments and reviews of an access request, as import reads them or for a spreadsheet',
    flags: {
      'access-request': accessRequest,
      'after-event': optional(number('Only those after this id')),
      format: optional(
        choice(['ndjson', 'csv'], 'JSON objects, one per line (default), or CSV (RFC 4180)'),
      ),
    },
    pages: { members: 'events', from: 'after-event', columns: eventColumns },
    run: async ({ 'access-request': { access_request_id }, 'after-event': after = 0 }) => {
      const { events, next } = await listEvents(access_request_id, after);
      return { events: events.map(({ written_by: _, ...event }) => event), next };
    },
  },
});
