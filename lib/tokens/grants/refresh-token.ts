import * as v from 'valibot';
import { refreshSession } from '../../people/sessions/refresh-session.ts';
import { parameters, required } from '../../schema/form-parameters.ts';
import { grant } from '../grant.ts';
import { readRefreshToken } from '../refresh-token.ts';
import { loginUserTokenOf } from '../token-response.ts';

const grant_type = 'refresh_token';

/** A refresh token of ours. @see RFC 6749 section 6 */
export const refreshToken = grant({
  grant_type,
  token_use: 'login_user',
  schema: v.pipe(
    parameters({ grant_type: v.literal(grant_type), refresh_token: required('refresh_token') }),
    v.title('RefreshTokenGrant'),
  ),
  issue: async (client, { refresh_token }) =>
    loginUserTokenOf(await refreshSession(client, await readRefreshToken(refresh_token))),
});
