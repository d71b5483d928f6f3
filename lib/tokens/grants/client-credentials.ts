import * as v from 'valibot';
import { loginAppTokenOf } from '../token-response.ts';
import { grant } from './grant.ts';

/** A Login App Token for the client itself. @see RFC 6749 section 4.4 */
export const clientCredentials = grant(v.object({}), ({ clientId, loginApp }) =>
  loginAppTokenOf(loginApp.login_app_id, clientId),
);
