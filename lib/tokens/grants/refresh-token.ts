import * as v from 'valibot';
import type { AuthenticatedClient } from '../../login-apps/clients.ts';
import { refreshSession } from '../../people/sessions/refresh-session.ts';
import { parameters, required } from '../../schema/form-parameters.ts';
import { readRefreshToken } from '../refresh-token.ts';
import { loginUserTokenOf, type TokenResponse } from '../token-response.ts';

/** @see RFC 6749 section 6 */
export const refreshTokenSchema = v.pipe(
  parameters({ grant_type: v.literal('refresh_token'), refresh_token: required('refresh_token') }),
  v.title('RefreshTokenGrant'),
);

/** Issues a new Login User Token for a refresh token. @throws ServiceError */
export const issueForRefreshToken = async (
  client: AuthenticatedClient,
  { refresh_token }: v.InferOutput<typeof refreshTokenSchema>,
): Promise<TokenResponse> =>
  loginUserTokenOf(await refreshSession(client, await readRefreshToken(refresh_token)));
