import * as v from 'valibot';
import { accessItem, grantAccess, readAccesses } from '../../access-requests/access.ts';
import {
  type AccessRequest,
  createAccessRequest,
  readAccessRequest,
  revokeAccessTo,
} from '../../access-requests/access-request.ts';
import { addEvent } from '../../access-requests/add-event.ts';
import { allEvents } from '../../access-requests/event-lists.ts';
import { findImported, importAccessRequests } from '../../access-requests/import-access-requests.ts';
import { importEvents } from '../../access-requests/import-events.ts';
import { exportEvents, listEvents } from '../../access-requests/list-events.ts';
import { newEvent } from '../../access-requests/new-event.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { importLines } from '../../schema/import-lines.ts';
import { invalidRequest, unprocessableEntity, validated } from '../../schema/validation.ts';
import { accessRequestsOfAccountList } from '../../storage/keys.ts';
import { readLastOrdinal } from '../../storage/lists.ts';
import { readPage } from '../../storage/pages.ts';
import type { CommandsOf } from '../commands-of.ts';
import { requireAccount } from './accounts.ts';

export const accessRequestCommands: CommandsOf<'access-requests'> = {
  list: async ({ account: id, after }) => {
    const { account_id } = await requireAccount(id);
    const { items, ...page } = await readPage(accessRequestsOfAccountList(account_id), after);
    const access_requests = items.map((item) => {
      const { access_request_id, granted_at } = v.parse(accessItem, item);
      return { access_request_id, granted_at };
    });
    return { account_id, access_requests, ...page };
  },
  show: async ({ 'access-request': id }) => {
    const accessRequest = await requireAccessRequest(id);
    const [accesses, events] = await Promise.all([readAccesses(id), readLastOrdinal(allEvents(id))]);
    return { ...accessRequest, events, accounts: accesses };
  },
  find: async ({ account: id, 'imported-id': importedId }) => {
    const { account_id } = await requireAccount(id);
    const found = await findImported(account_id, importedId);
    if (found === undefined) {
      throw new ServiceError('not_found', 'The account has imported no access request with this id.');
    }
    return { account_id, access_request_id: found };
  },
  import: async ({ account: id, 'access-requests': lines }, operator) => {
    const { account_id } = await requireAccount(id);
    const read = validated(importLines, lines, invalidRequest);
    return { ...(await importAccessRequests(account_id, read, operator)) };
  },
  create: async ({ account }, operator) => {
    await requireAccount(account);
    const { access_request_id, created_at } = await createAccessRequest(account, operator);
    return { access_request_id, account_id: account, created_at };
  },
  grant: async ({ 'access-request': id, account }) => {
    await requireAccount(account);
    await requireAccessRequest(id);
    await grantAccess(id, account);
    return { access_request_id: id, account_id: account, access: true };
  },
  revoke: async ({ 'access-request': id, account }) => {
    await revokeAccessTo(await requireAccessRequest(id), account);
    return { access_request_id: id, account_id: account, access: false };
  },
};

export const commentCommands: CommandsOf<'comments'> = {
  add: (flags, operator) => add({ ...flags, type: 'comment' }, operator),
};

export const reviewCommands: CommandsOf<'reviews'> = {
  add: (flags, operator) => add({ ...flags, type: 'review', comment: flags.comment ?? '' }, operator),
};

export const eventCommands: CommandsOf<'events'> = {
  import: async ({ events }, operator) => ({
    ...(await importEvents(validated(importLines, events, invalidRequest), { operator })),
  }),
  list: async ({ 'access-request': id, after = 0 }) => {
    const accessRequest = await requireAccessRequest(id);
    return { ...accessRequest, ...(await listEvents(id, after)) };
  },
  export: async ({ 'access-request': id, 'after-event': after = 0 }) => {
    await requireAccessRequest(id);
    return { ...(await exportEvents(id, after)) };
  },
};

async function add(
  flags: Record<string, unknown> & { 'access-request': number },
  operator: string,
): Promise<Record<string, unknown>> {
  const { 'access-request': id, 'actor-type': actor_type, 'actor-id': actor_id, ...rest } = flags;
  const event = validated(newEvent, { ...rest, actor_type, actor_id }, unprocessableEntity);
  await requireAccessRequest(id);
  return addEvent(id, event, { operator });
}

/** @throws ServiceError when there is no such access request */
async function requireAccessRequest(id: number): Promise<AccessRequest> {
  const accessRequest = await readAccessRequest(id);
  if (!accessRequest) throw new ServiceError('not_found', 'There is no such access request.');
  return accessRequest;
}
