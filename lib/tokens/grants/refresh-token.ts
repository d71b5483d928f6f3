import { refreshSession } from '../refresh-session.ts';
import { loginUserTokenOf } from '../token-response.ts';
import { grant, parameters, required } from './grant.ts';

/** A new Login User Token for a refresh token, which is used up. @see RFC 6749 section 6 */
export const refreshToken = grant(
  parameters({ refresh_token: required('refresh_token') }),
  async (client, { refresh_token }) => loginUserTokenOf(await refreshSession(client, refresh_token)),
);
