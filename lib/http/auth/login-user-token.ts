import { ServiceError } from '../../foundation/service-error.ts';
import { annotateLog } from '../../log/request-fields.ts';
import { findCurrentClient } from '../../login-apps/clients.ts';
import { findStatus } from '../../login-apps/status.ts';
import { type AuthenticatedUser, mergedError } from '../../login-users/login-user.ts';
import { hasIssued, isActive, readLoginUserWithSession } from '../../people/sessions/session.ts';
import { readAccessTokenFor } from '../../tokens/access-token.ts';
import type { Authentication } from '../endpoint.ts';
import { requiredBearerToken } from './credentials.ts';

const ended = 'The session of this Login User Token has ended.';

/**
 * Authentication of a person by a token in `Authorization` or `Authentication`, even while their
 * deletion is interrupted.
 */
export const loginUserToken: Authentication<AuthenticatedUser> = {
  scheme: 'login_user_token',
  error: {
    code: 'invalid_token',
    when: 'The Login User Token is missing, expired or of another kind, its session has ended, or its Login App is disabled. Or the Login User was merged into another one, whose id is in `merged_into`.',
    example: ended,
    further: { merged_into: 'The Login User into whom the one of the token was merged.' },
  },
  furtherErrors: {
    forbidden: { when: 'The person is blocked.', example: 'The Login User is blocked.' },
    not_found: {
      when: 'The Login User does not exist.',
      example: 'The Login User does not exist.',
    },
  },
  table: { login_apps: ['GetItem'], signing_keys: ['GetItem'], login_users: ['BatchGetItem'] },
  identify: async (headers) => {
    const token = requiredBearerToken('Login User Token', [
      headers.authentication,
      headers.authorization,
    ]);
    const { claims, reason } = await readAccessTokenFor('login_user', token);
    if (!claims)
      throw new ServiceError('invalid_token', 'The token is not a valid Login User Token.', reason);
    annotateLog({
      client_id: claims.client_id,
      login_app_id: claims.aud,
      login_user_id: claims.sub,
    });
    const [{ user, isDeleted, merged, session }, client, status] = await Promise.all([
      readLoginUserWithSession(claims.sub, claims.sid),
      findCurrentClient(claims.client_id),
      findStatus(claims.aud),
    ]);
    const disabled = 'The Login App of this Login User Token is disabled.';
    if (!status.isEnabled) throw new ServiceError('invalid_token', disabled, 'login_app_disabled');
    if (!client) throw new ServiceError('invalid_token', ended, 'id_unknown');
    // A token of somebody who was merged says where they are now, after their session, too.
    if (merged?.login_app_id === claims.aud && !merged.guest) throw mergedError(merged);
    if (!session || !isActive(session, status) || !hasIssued(session, claims))
      throw new ServiceError('invalid_token', ended, 'session_ended');
    const issued_at = claims.iat;
    return { ...session, issued_at, client_providers: client.providers, user, isDeleted, merged };
  },
};
