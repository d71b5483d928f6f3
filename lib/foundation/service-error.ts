// What every other room stands on: the errors that a caller may read, the reasons for the log, ids, the clock, the
// environment and the options of AWS clients. It calls nobody, and knows nothing of the service.

import type { LogReason } from './reasons.ts';

/**
 * The codes of error responses, each with its HTTP status. Ten are OAuth's
 * (RFC 6749 section 5.2, RFC 7009 section 2.2.1, RFC 6750 section 3.1, RFC 9449 section 5, RFC 9470 section 3).
 */
export const statuses = {
  invalid_request: 400,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  unsupported_token_type: 400,
  invalid_dpop_proof: 400,
  use_dpop_nonce: 400,
  invalid_client: 401,
  invalid_token: 401,
  insufficient_user_authentication: 401,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  unprocessable_entity: 422,
  too_many_requests: 429,
  temporarily_unavailable: 503,
} as const;
export type ErrorCode = keyof typeof statuses;

/** An error code as the API document describes it. */
export interface ErrorRecord {
  /** The case in which the error occurs. */
  when: string;
  example: string;
  /** The field that the example is about, for 422. */
  field?: string;
}

export interface FieldError {
  field: string;
  message: string;
}

interface ErrorDetail {
  errors?: FieldError[] | undefined;
  /** For the log only. */
  reason?: LogReason | undefined;
  /** Parameters of the challenge: the login that would be sufficient. @see RFC 9470 section 3 */
  challenge?: Record<string, string | number>;
  /** The nonce that the next proof must have. @see RFC 9449 section 8 */
  proofNonce?: string;
  /** Seconds to wait before the request is sent again, where they are known better than by the code. */
  retryAfterSeconds?: number;
}

/**
 * An error that the caller may read. The description names what is wrong and what is allowed; it never contains a secret
 * or the value that was sent.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;

  /** @param detail the reason for the log alone may stand for an object with nothing else */
  constructor(code: ErrorCode, description: string, detail: LogReason | ErrorDetail = {}) {
    super(description);
    this.code = code;
    this.detail = typeof detail === 'string' ? { reason: detail } : detail;
  }
}

/** The error for a request that is malformed, or can't be done as it is. */
export const invalid = (description: string): ServiceError =>
  new ServiceError('invalid_request', description);
