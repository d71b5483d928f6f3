import { createHash } from 'node:crypto';
import { ServiceError } from '../../foundation/service-error.ts';
import { rejected } from '../credential.ts';
import type { NonceForm, TrustedIssuer } from './issuer.ts';

/** @throws ServiceError when the issuer's settings require a nonce, and the request has none */
export function requireNonce({ nonce: rule }: Pick<TrustedIssuer, 'nonce'>, nonce: string | undefined): void {
  if (rule === 'required' && nonce === undefined)
    throw new ServiceError('invalid_request', 'The parameter nonce is required for this issuer.');
}

/**
 * Makes sure that an id token was made for this login. A token with a nonce counts for a request without one, because
 * some SDKs add a nonce on their own.
 * @throws ServiceError
 * @see OpenID Connect Core 1.0, section 15.5.2
 */
export function rejectOtherNonce(claim: unknown, nonce: string | undefined, form?: NonceForm): void {
  if (nonce !== undefined && !isNonce(claim, nonce, form)) throw rejected('nonce_mismatch');
}

/**
 * Whether a claim is the nonce, literally or as its SHA-256 in hex or base64url: iOS apps send the hash to the provider.
 * @param form the one that counts. Where tokens carry the hash, whoever has seen a token knows it, so it is no nonce there
 */
function isNonce(claim: unknown, nonce: string, form: NonceForm = 'either'): boolean {
  if (typeof claim !== 'string') return false;
  if (form !== 'sha256' && claim === nonce) return true;
  if (form === 'plain') return false;
  const digest = createHash('sha256').update(nonce).digest();
  return claim === digest.toString('base64url') || claim.toLowerCase() === digest.toString('hex');
}
