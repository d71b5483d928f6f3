import { accessItem, accessRequestItem, readAccesses } from '../../access-requests/access-request.ts';
import { settle } from '../../access-requests/decision.ts';
import { allEvents } from '../../access-requests/event-lists.ts';
import { findImported, importAccessRequests } from '../../access-requests/import-access-requests.ts';
import { createAccessRequest, grantAccess, revokeAccess } from '../../access-requests/make-access-request.ts';
import { indexAccessRequests } from '../../access-requests/refresh-marked.ts';
import { readShown } from '../../access-requests/search-access-requests.ts';
import { shown } from '../../access-requests/shown-access-request.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { importLinesSchema } from '../../schema/import-lines.ts';
import { invalidRequest, validated } from '../../schema/validation.ts';
import { accessRequestsList, accessRequestsOfAccountList } from '../../storage/keys.ts';
import { readLastOrdinal } from '../../storage/lists.ts';
import { defineCommands } from '../command.ts';
import { lines, text } from '../flags.ts';
import { readPage } from '../pages.ts';
import { accessRequest, account, after, requireAccessRequest, requireAccount } from './shared.ts';

export const accessRequestCommands = defineCommands({
  'access-requests list': {
    summary: 'List the access requests that an account has access to',
    flags: { account, after },
    run: async ({ account: id, after }) => {
      const { account_id } = await requireAccount(id);
      const { items, ...page } = await readPage(accessRequestsOfAccountList(account_id), after);
      const accesses = items.map(accessItem.parse);
      const found = await readShown(
        account_id,
        accesses.map((access) => access.access_request_id),
      );
      const access_requests = accesses.map(({ access_request_id, granted_at }) => {
        const { id: _, created_at: __, ...fields } = found.find(({ id }) => id === access_request_id) ?? {};
        return { access_request_id, granted_at, ...fields };
      });
      return { account_id, access_requests, ...page };
    },
  },
  'access-requests show': {
    summary: 'Show an access request, its decision, who has access to it and how many events it has',
    flags: { 'access-request': accessRequest },
    run: async ({ 'access-request': access_request_id }) => {
      const request = await settle(await requireAccessRequest(access_request_id));
      const { account_id, operator } = request;
      const { id, ...fields } = shown(request);
      const [accounts, events] = await Promise.all([readAccesses(id), readLastOrdinal(allEvents(id))]);
      return { access_request_id, account_id, operator, ...fields, events, accounts };
    },
  },
  'access-requests find': {
    summary: 'Show the access request that an import created for an external id',
    flags: { account, 'imported-id': text('Its id in the system that it came from') },
    run: async ({ account: id, 'imported-id': importedId }) => {
      const { account_id } = await requireAccount(id);
      const access_request_id = await findImported(account_id, importedId);
      if (access_request_id !== undefined) return { account_id, access_request_id };
      throw new ServiceError('not_found', 'The account has imported no access request with this id.');
    },
  },
  'access-requests create': {
    summary: 'Create an access request that an account has access to',
    flags: { account },
    run: async ({ account: id }, operator) => {
      const { account_id } = await requireAccount(id);
      const { access_request_id, created_at } = await createAccessRequest(account_id, { operator });
      return { access_request_id, account_id, created_at };
    },
  },
  'access-requests import': {
    summary:
      'Create an access request for each line of a file; run it again to continue after an interruption',
    flags: {
      account,
      'access-requests': lines('A file of JSON objects, one per line, with id and created_at'),
    },
    files: { 'ids-to': 'Write which id became which to this file, for events import (optional)' },
    run: async ({ account: id, 'access-requests': given }, operator) => {
      const { account_id } = await requireAccount(id);
      const read = validated(importLinesSchema, given, invalidRequest);
      return { ...(await importAccessRequests(account_id, read, operator)) };
    },
  },
  'access-requests index': {
    summary:
      'Put the access requests of older versions into the lists of accounts; it can be run again any time',
    flags: { after },
    pages: { members: 'indexed', from: 'after' },
    run: async ({ after }) => {
      const { items, ...page } = await readPage(accessRequestsList, after);
      const requests = items.map(accessRequestItem.parse);
      await indexAccessRequests(requests);
      const last_id = requests.at(-1)?.access_request_id;
      return { indexed: [{ access_requests: requests.length, last_id }], ...page };
    },
  },
  'access-requests grant': {
    summary: 'Give an account access to an access request',
    flags: { 'access-request': accessRequest, account },
    run: async ({ 'access-request': id, account: account_id }) => {
      await requireAccount(account_id);
      await grantAccess(await requireAccessRequest(id), account_id);
      return { access_request_id: id, account_id, access: true };
    },
  },
  'access-requests revoke': {
    summary: "Remove an account's access to an access request",
    flags: { 'access-request': accessRequest, account },
    run: async ({ 'access-request': id, account: account_id }) => {
      await revokeAccess(await requireAccessRequest(id), account_id);
      return { access_request_id: id, account_id, access: false };
    },
  },
});
