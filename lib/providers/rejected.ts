import type { LogReason } from '../foundation/reasons.ts';
import { ServiceError } from '../foundation/service-error.ts';

/** The error for a credential that the provider or our own validation rejects. The reason is for the log alone. */
export const rejected = (reason: LogReason): ServiceError =>
  new ServiceError('invalid_grant', 'The provider does not accept this credential for this Login App.', {
    reason,
  });

/** The longest credential that is looked at, in characters. */
const longestCredential = 16_384;

/** Returns a credential that is visible ASCII and of a possible length. @throws ServiceError for another @see RFC 6749 appendix A */
export function wellFormedCredential(credential: string): string {
  if (credential.length > longestCredential) throw rejected('credential_too_long');
  if (!/^[\x21-\x7e]+$/.test(credential)) throw rejected('credential_malformed');
  return credential;
}
