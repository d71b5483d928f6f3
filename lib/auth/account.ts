import { accountIdForm, authenticateAccount } from '../accounts/account.ts';
import { basicAuthentication } from './credentials.ts';

/** Account authentication: `account_id:account_secret` in HTTP Basic. */
export const account = basicAuthentication({
  scheme: 'account',
  whose: 'account',
  error: 'unauthorized',
  find: authenticateAccount,
  idField: 'account_id',
  idForm: accountIdForm,
  noted: ({ account_id }) => ({ account_id }),
});
