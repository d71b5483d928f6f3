import { grantAccess, revokeAccess } from '../../access-requests/access.ts';
import { createAccessRequest, readAccessRequest } from '../../access-requests/access-request.ts';
import { addEvent } from '../../access-requests/add-event.ts';
import { importEvents } from '../../access-requests/import-events.ts';
import { importLines } from '../../access-requests/import-lines.ts';
import { newEvent } from '../../access-requests/new-event.ts';
import { ServiceError } from '../../service-error.ts';
import { invalidRequest, unprocessableEntity, validated } from '../../validation.ts';
import type { CommandsOf } from '../commands-of.ts';
import { requireAccount } from './accounts.ts';

export const accessRequestCommands: CommandsOf<'access-requests'> = {
  create: async ({ account }) => {
    await requireAccount(account);
    const { access_request_id, created_at } = await createAccessRequest(account);
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
  add: (flags) => add({ ...flags, type: 'comment' }),
};

export const reviewCommands: CommandsOf<'reviews'> = {
  add: (flags) => add({ ...flags, type: 'review', comment: flags.comment ?? '' }),
};

export const eventCommands: CommandsOf<'events'> = {
  import: async ({ events }) => ({
    ...(await importEvents(validated(importLines, events, invalidRequest))),
  }),
};

async function add(
  flags: Record<string, unknown> & { 'access-request': number },
): Promise<Record<string, unknown>> {
  const { 'access-request': id, 'actor-type': actor_type, 'actor-id': actor_id, ...rest } = flags;
  const event = validated(newEvent, { ...rest, actor_type, actor_id }, unprocessableEntity);
  await requireAccessRequest(id);
  return addEvent(id, event);
}

/** @throws ServiceError when there is no such access request */
async function requireAccessRequest(id: number): Promise<void> {
  if (!(await readAccessRequest(id))) throw new ServiceError('not_found', 'There is no such access request.');
}
