import * as v from 'valibot';
import { ServiceError } from '../foundation/service-error.ts';
import { type AuthenticatedUser, isGuest } from '../login-users/login-user.ts';
import { requireRecentToken, requireStepUp } from '../login-users/recent-login.ts';
import { requireSameKey } from '../people/sessions/session.ts';
import { type ProvenRequest, useProof, verifyProof } from './dpop-proof.ts';

/** The headers of requests that `requirePresence` checks. */
export const presenceHeaders = {
  dpop: v.optional(
    v.pipe(
      v.string(),
      v.description(
        'Of a guest on a public client: a proof by the key of the session, with a nonce of the service.',
      ),
    ),
  ),
};

/**
 * Requires that somebody who asks for what can't be undone is there now, so that a stolen access
 * token alone is not enough. A person has logged in recently, with an `acr` that the deployment
 * wants. A guest can't log in again, and there is nobody to show an `acr`:
 *
 * - On a public client, a proof of the session's key comes with the request. It needs a nonce of the
 *   service, so that it can't have been made long before, and counts once.
 * - On a confidential client, the access token is recent: only the client's own credential gets
 *   another one.
 * @param dpop the header `DPoP`
 * @throws ServiceError `insufficient_user_authentication`; for a guest of a public client
 *   `invalid_dpop_proof` or `use_dpop_nonce`
 */
export async function requirePresence(
  caller: AuthenticatedUser,
  dpop: string | undefined,
  request: ProvenRequest,
): Promise<void> {
  if (!caller.user || !isGuest(caller.user)) return requireStepUp(caller);
  if (caller.proof_key === undefined) return requireRecentToken(caller);
  await requireKey(caller, dpop, request, 'a guest has no login to repeat');
}

/**
 * Requires the presence of somebody, and on a public client always a proof of the session's key:
 * whoever has copied an access token of a recent login has not copied the key.
 * @throws ServiceError as `requirePresence` does
 */
export async function requirePresenceWithKey(
  caller: AuthenticatedUser,
  dpop: string | undefined,
  request: ProvenRequest,
): Promise<void> {
  const isPerson = caller.user && !isGuest(caller.user);
  if (isPerson) requireStepUp(caller);
  else if (caller.proof_key === undefined) requireRecentToken(caller);
  if (caller.proof_key !== undefined)
    await requireKey(caller, dpop, request, 'a merge cannot be undone');
}

/** Requires a proof by the key of the session, which counts once. */
async function requireKey(
  caller: AuthenticatedUser,
  dpop: string | undefined,
  request: ProvenRequest,
  why: string,
): Promise<void> {
  if (dpop === undefined) {
    const message = `Send a proof in the header DPoP, by the key of the session: ${why}.`;
    throw new ServiceError('invalid_dpop_proof', message, 'proof_missing');
  }
  const proof = await verifyProof(dpop, request, true);
  requireSameKey(caller, { proofKey: proof.key });
  await useProof({ proof });
}
