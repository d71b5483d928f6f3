import * as v from 'valibot';
import type { LogReason } from '../foundation/reasons.ts';
import type { Body } from './body.ts';

const codes = [
  'invalid_request',
  'invalid_key',
  'invalid_issuer',
  'invalid_audience',
  'authentication_failed',
  'access_denied',
] as const;

/** The codes of what is wrong; anything else is `invalid_request`. */
const codeOf: { [Reason in LogReason]?: (typeof codes)[number] } = {
  issued_by_another_issuer: 'invalid_issuer',
  issued_to_another_app: 'invalid_audience',
  unknown_key: 'invalid_key',
  algorithm_not_allowed: 'invalid_key',
  signature_invalid: 'authentication_failed',
  notifications_off: 'access_denied',
};

/** The 400 to a security event token that is not accepted. @see RFC 8935 sections 2.3 and 2.4 */
export const badSecurityEvent = {
  schema: v.pipe(
    v.object({
      err: v.picklist(codes),
      description: v.pipe(v.string(), v.description('What is wrong, for developers.')),
    }),
    v.title('SecurityEventError'),
  ),
  render: ({ message: description, reason }) => ({
    body: { err: (reason && codeOf[reason]) ?? 'invalid_request', description },
    headers: { 'content-language': 'en' },
  }),
} satisfies Body<unknown>['badRequest'];
