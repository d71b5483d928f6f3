import * as v from 'valibot';
import type { LogReason } from '../../foundation/reasons.ts';
import type { ServiceError } from '../../foundation/service-error.ts';
import { textField } from '../../schema/json-schema.ts';

/** The error codes of RFC 8935 by the reason of a rejection. Any other is `invalid_request`. */
const codes: { [Reason in LogReason]?: string } = {
  unknown_key: 'invalid_key',
  algorithm_not_allowed: 'invalid_key',
  issued_by_another_issuer: 'invalid_issuer',
  issued_to_another_app: 'invalid_audience',
  signature_invalid: 'authentication_failed',
  notifications_off: 'access_denied',
};

/**
 * The 400 to a security event token that is not accepted.
 * @see RFC 8935 sections 2.3 and 2.4
 */
export const securityEventError = {
  schema: v.pipe(
    v.object({
      err: v.picklist(['invalid_request', ...new Set(Object.values(codes))]),
      description: textField('What is wrong, for developers.'),
    }),
    v.title('SecurityEventError'),
  ),
  render: ({ message, detail: { reason } }: ServiceError) => {
    const code = reason && codes[reason];
    return {
      body: { err: code ?? 'invalid_request', description: message },
      headers: { 'content-language': 'en' },
    };
  },
};
