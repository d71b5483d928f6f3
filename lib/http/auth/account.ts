import { type Account, authenticateAccount } from '../../access-requests/account.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import { annotateLog } from '../../log/request-fields.ts';
import type { Authentication } from '../endpoint.ts';
import { basicCaller, mismatch } from './credentials.ts';

/** Authentication of accounts by `account_id:account_secret` in HTTP Basic. */
export const account: Authentication<Account> = {
  scheme: 'account',
  error: {
    code: 'unauthorized',
    when: 'The account id or the account secret is missing or wrong, or the account is disabled.',
    example: mismatch('account'),
  },
  table: { accounts: ['GetItem'] },
  identify: ({ authorization }) => basicCaller('account', authorization, authenticateAccount),
};

/**
 * Authentication of accounts that may write. One that may only read gets a 403 before the rest of
 * the request is read.
 */
export const writingAccount: Authentication<Account> = {
  ...account,
  identify: async (headers, form) => {
    const caller = await account.identify(headers, form);
    if (!caller.read_only) return caller;
    // The audit line names this caller, too.
    annotateLog({ caller: account.scheme });
    throw new ServiceError('forbidden', 'The account may only read.', 'account_read_only');
  },
};
