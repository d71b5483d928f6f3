import { authenticateAccount } from '../accounts/account.ts';
import { note } from '../log.ts';
import { Refusal } from '../refusal.ts';
import { authentication, basicCredentials } from './credentials.ts';

/** Account authentication: `account_id:account_secret` in HTTP Basic. */
export const account = authentication(async (headers) => {
  const credentials = basicCredentials(headers.authorization);
  if (!credentials) {
    throw new Refusal(
      'unauthorized',
      'Send the account id and the account secret with HTTP Basic authentication.',
    );
  }
  const found = await authenticateAccount(credentials.user, credentials.password);
  if (!found) throw new Refusal('unauthorized', 'The account id and the account secret do not match.');
  note({ account_id: found.account_id });
  return found;
});
