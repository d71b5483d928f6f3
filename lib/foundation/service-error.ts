import type { LogReason } from './reasons.ts';

/**
 * The codes of error responses, with their HTTP status.
 * @see RFC 6749 section 5.2, RFC 6750 section 3.1, RFC 7009 section 2.2.1, RFC 8693 section 2.2.2,
 *   RFC 9449 section 5, RFC 9470 section 3
 */
export const statuses = {
  invalid_request: 400,
  invalid_grant: 400,
  invalid_target: 400,
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
  when: string;
  example: string;
  /** The field that the example is about, for 422. */
  field?: string;
  /** Fields that the body may have besides those of every error: what each means, by name. */
  further?: { [Name in keyof FurtherFields]: string };
}

/** Fields of an error's body that only some errors have, for the app to go on by. */
export interface FurtherFields {
  /** Whether the owner of the identity can be merged with the caller. */
  merge_possible?: true;
  /** The Login User into whom the one of the token was merged. */
  merged_into?: string;
}

export interface FieldError {
  field: string;
  message: string;
}

interface ErrorDetail {
  errors?: FieldError[] | undefined;
  further?: FurtherFields;
  /** For the log only. */
  reason?: LogReason | undefined;
  /**
   * Parameters of the challenge, which say which login would be sufficient.
   * @see RFC 9470 section 3
   */
  challenge?: Record<string, string | number>;
  /**
   * The nonce that the next proof must have.
   * @see RFC 9449 section 8
   */
  proofNonce?: string;
  /**
   * Seconds to wait before the request is sent again, for the header `Retry-After`.
   * @default the number that answers have for the error code, if there is one
   */
  retryAfterSeconds?: number;
}

/**
 * An error that the caller may read. Its description says what is allowed, and never contains a
 * secret or what was sent.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly detail: ErrorDetail;

  /** @param detail a reason by itself stands for a detail with that reason alone */
  constructor(code: ErrorCode, description: string, detail: LogReason | ErrorDetail = {}) {
    super(description);
    this.code = code;
    this.detail = typeof detail === 'string' ? { reason: detail } : detail;
  }
}

/** The error `invalid_request`. */
export const invalid = (description: string) => new ServiceError('invalid_request', description);
