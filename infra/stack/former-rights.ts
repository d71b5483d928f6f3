import type { Access, TableAction, TableRights } from '../../lib/http/endpoint.ts';
import { indexNames, partitionsOf, rightsOn, type TableRight } from '../table-rights.ts';

/** Functions that 1.0.0 did not have. */
const newFunctions = ['issue-nonce', 'search-access-requests', 'show-access-request'];

/** Whether 1.0.0 had a function, whose role must keep the rights of then. */
export const isFormer = (key: string): boolean => !newFunctions.includes(key);

/** Rights on the table that only functions of 1.0.0 needed. */
const formerRights: Record<string, TableRights> = {
  'add-comment': {
    ...withLists(['GetItem', 'BatchGetItem', 'PutItem', 'Query']),
    accounts: ['GetItem'],
  },
  'add-review': withLists(['BatchGetItem', 'Query']),
  'create-access-request': {
    ...withLists(['GetItem', 'BatchGetItem', 'UpdateItem', 'Query']),
    accounts: ['GetItem', 'UpdateItem'],
  },
  'search-events': { ...withLists(['GetItem', 'BatchGetItem', 'Query']), accounts: ['GetItem'] },
  'search-reviews': { ...withLists(['GetItem', 'BatchGetItem', 'Query']), accounts: ['GetItem'] },
  'link-identity': { issuer_keys: ['PutItem'], login_users: ['PutItem', 'DeleteItem'] },
  'receive-notification': { issuer_keys: ['PutItem'], login_users: ['PutItem'] },
};

/**
 * Rights on access requests and on the lists of accounts, which were one kind of items in 1.0.0.
 */
function withLists(actions: TableAction[]): TableRights {
  return { access_requests: actions, access_request_lists: actions };
}

/**
 * The rights on the table that a function had in 1.0.0, and those of today: each action on all
 * partitions of its kinds of items, and a query on every index, as 1.0.0 had them.
 */
export const formerRightsOf = (key: string, { table, authenticate }: Access): TableRight[] =>
  rightsOn([table, authenticate?.table, formerRights[key]], (action, kind) => ({
    keys: partitionsOf(kind),
    indexes: action === 'Query' ? indexNames : [],
  }));
