import { ServiceError } from '../foundation/service-error.ts';

/**
 * The codes for a blocked person: no login (RFC 6749 section 5.2), no refresh, no device shown, no device related. The
 * one for a refresh says nothing against the token, so apps keep it, and it works again once the person is unblocked.
 */
export type BlockedCode = 'invalid_grant' | 'unauthorized_client' | 'forbidden' | 'unprocessable_entity';

const message = 'The Login User is blocked.';

/** The error for whatever a blocked person asks for: one sentence everywhere. */
export const blockedError = (code: BlockedCode): ServiceError =>
  new ServiceError(code, message, {
    reason: 'login_user_blocked',
    ...(code === 'unprocessable_entity' && { errors: [{ field: 'device_id', message }] }),
  });
