import * as v from 'valibot';
import { refreshSession } from '../../people/sessions/refresh-session.ts';
import { parameters, required } from '../../schema/form-parameters.ts';
import { grantForm } from '../grant-form.ts';
import { readRefreshToken } from '../refresh-token.ts';
import { loginUserTokenOf } from '../token-response.ts';

const form = parameters({ grant_type: v.literal('refresh_token'), refresh_token: required('refresh_token') });

/** A refresh token of ours. @see RFC 6749 section 6 */
export const refreshToken = grantForm(
  v.pipe(form, v.title('RefreshTokenGrant')),
  'login_user',
  async (client, { refresh_token }) =>
    loginUserTokenOf(await refreshSession(client, await readRefreshToken(refresh_token))),
);
