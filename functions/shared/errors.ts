import type { ErrorRecord } from '../../lib/foundation/service-error.ts';
import { throttled } from '../../lib/providers/calls/without-verdict.ts';

export const senderErrors = {
  unauthorized_client: {
    when: 'The Login App is disabled.',
    example: 'The Login App is disabled.',
  },
  forbidden: {
    when: 'The grants of the client are limited, and an operator has not allowed it to read recipients.',
    example: 'The client may not read recipients.',
  },
} satisfies Record<string, ErrorRecord>;

export const proofErrors = {
  invalid_dpop_proof: {
    when: 'A public client sent no proof of its key, or one that is malformed, by another key, for another request or used. The session goes on.',
    example: 'The proof has been used; make a new one for each request.',
  },
  use_dpop_nonce: {
    when: 'The proof of a refresh has no nonce of the service, or one that has expired; or the proof is not of this minute, since the clock of the phone is wrong. Make one with the nonce in the header `DPoP-Nonce`.',
    example: 'The proof is not of this minute: make one with the nonce in the header DPoP-Nonce.',
  },
} satisfies Record<string, ErrorRecord>;

export const providerNotAllowed: ErrorRecord = {
  when: 'A public client may not use this provider, or not by a code that nothing binds to the login. An operator can change that.',
  example:
    'The public client may not use provider_a, only provider_f. An operator can allow more by clients set-providers.',
};

export const throttledByProvider: ErrorRecord = {
  when: 'The identity provider takes no more requests of the app now.',
  example: throttled,
};

export const exampleOfOldLogin =
  'This needs a login at most 900 seconds ago: log in again and repeat the request.';

/**
 * The error of a person whose login is too long ago, or of another authentication context class
 * than it takes.
 */
export const stepUpErrors = {
  insufficient_user_authentication: {
    when: 'The login is longer ago than the operator allows for this, 15 minutes by default, or it has none of the `acr_values` that the challenge names. Log in again and repeat the request.',
    example: exampleOfOldLogin,
  },
} satisfies Record<string, ErrorRecord>;

/** The errors of somebody who may be a guest, and has to be there now. */
export const presenceErrors = {
  insufficient_user_authentication: {
    ...stepUpErrors.insufficient_user_authentication,
    when: `${stepUpErrors.insufficient_user_authentication.when} For a guest of a confidential client, the access token was issued longer ago: refresh it.`,
  },
  invalid_dpop_proof: {
    when: 'For a guest of a public client: there is no proof of the key of the session, or one that is malformed, by another key, for another request or used.',
    example:
      'Send a proof in the header DPoP, by the key of the session: a guest has no login to repeat.',
  },
  use_dpop_nonce: {
    when: "The guest's proof has no nonce of the service, or one that has expired. Make one with the nonce in the header `DPoP-Nonce`.",
    example:
      'The proof has no nonce of the service, or one that has expired: make one with that in the header DPoP-Nonce.',
  },
} satisfies Record<string, ErrorRecord>;
