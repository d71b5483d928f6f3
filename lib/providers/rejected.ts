import { Refusal } from '../refusal.ts';

/** The refusal of a credential that the provider, or our check of it, rejects. The reason is for the log alone. */
export const rejected = (reason: string): Refusal =>
  new Refusal('invalid_grant', 'The provider does not accept this credential for this Login App.', {
    reason,
  });

/** The longest credential that is looked at, in characters. */
const longestCredential = 16_384;

/** Lets a credential through that can be one: visible ASCII, not beyond all size. @see RFC 6749 appendix A */
export function plausible(credential: string): string {
  if (credential.length > longestCredential) throw rejected('credential_too_long');
  if (!/^[\x21-\x7e]+$/.test(credential)) throw rejected('credential_malformed');
  return credential;
}
