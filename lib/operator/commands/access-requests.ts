import { grantAccess, revokeAccess } from '../../access-requests/access.ts';
import {
  type AccessRequest,
  createAccessRequest,
  readAccessRequest,
} from '../../access-requests/access-request.ts';
import { addEvent } from '../../access-requests/add-event.ts';
import { exportEvents } from '../../access-requests/export-events.ts';
import { importEvents } from '../../access-requests/import-events.ts';
import { listEvents } from '../../access-requests/list-events.ts';
import { newEvent } from '../../access-requests/new-event.ts';
import { importLines } from '../../import-lines.ts';
import { ServiceError } from '../../service-error.ts';
import { invalidRequest, unprocessableEntity, validated } from '../../validation.ts';
import type { CommandsOf } from '../commands-of.ts';
import { requireAccount } from './accounts.ts';

export const accessRequestCommands: CommandsOf<'access-requests'> = {
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
    await requireAccessRequest(id);
    await revokeAccess(id, account);
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
