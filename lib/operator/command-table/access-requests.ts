import type { Command } from '../command.ts';
import { accessRequest, account, after } from './shared-flags.ts';

export const accessRequests = {
  list: { summary: 'List the access requests that an account has access to', flags: { account, after } },
  show: {
    summary: 'Show an access request, who has access to it and how many events it has',
    flags: { 'access-request': accessRequest },
  },
  find: {
    summary: 'Show the access request that an import created for an external id',
    flags: { account, 'imported-id': { kind: 'text', help: 'Its id in the system that it came from' } },
  },
  create: { summary: 'Create an access request that an account has access to', flags: { account } },
  import: {
    summary:
      'Create an access request for each line of a file; run it again to continue after an interruption',
    flags: {
      account,
      'access-requests': {
        kind: 'lines',
        help: 'A file of JSON objects, one per line, with id and created_at',
      },
    },
    files: { 'ids-to': 'Write which id became which to this file, for events import (optional)' },
  },
  grant: {
    summary: 'Give an account access to an access request',
    flags: { 'access-request': accessRequest, account },
  },
  revoke: {
    summary: "Remove an account's access to an access request",
    flags: { 'access-request': accessRequest, account },
  },
} as const satisfies Record<string, Command>;
