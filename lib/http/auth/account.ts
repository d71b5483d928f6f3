import { type Account, authenticateAccount } from '../../access-requests/account.ts';
import { ServiceError } from '../../foundation/service-error.ts';
import type { Authentication } from '../endpoint.ts';
import { basicAuthentication } from './credentials.ts';

/** Account authentication: `account_id:account_secret` in HTTP Basic. */
export const account = basicAuthentication({
  scheme: 'account',
  whose: 'account',
  error: 'unauthorized',
  when: 'The account id or the account secret is missing or wrong, or the account is disabled.',
  find: authenticateAccount,
  table: { accounts: ['GetItem'] },
  idForm: 'ac_…',
  noted: ({ account_id }) => ({ account_id }),
});

/** Authentication of accounts that may write: one that may only read gets a 403 before the rest of the request is looked at. */
export const writingAccount: Authentication<Account> = {
  ...account,
  identify: async (headers, form) => {
    const caller = await account.identify(headers, form);
    if (caller.read_only)
      throw new ServiceError('forbidden', 'The account may only read.', 'account_read_only');
    return caller;
  },
};
