// What other functions know of the signing keys: apart from the keys, so that they bundle nothing of these.

import * as v from 'valibot';
import { environmentSeconds } from '../foundation/environment.ts';

/** Seconds that an access token is valid. */
export const accessTokenLifetime = environmentSeconds('ACCESS_TOKEN_SECONDS');

/** The algorithms that access tokens can be signed with; the first is the default. @see RFC 7518 section 3.1 */
export const tokenAlgorithms = ['RS256', 'ES256'] as const;
export type TokenAlgorithm = (typeof tokenAlgorithms)[number];

/** The event with which the operator function calls the rotation function: the id of the key to revoke. */
export const signingKeyRevocationSchema = v.object({ revoke: v.string() });
export type SigningKeyRevocation = v.InferOutput<typeof signingKeyRevocationSchema>;

/** The key that signs from now on and what that breaks, or why nothing was revoked. */
export const revocationAnswerSchema = v.union([
  v.object({ signing_kid: v.string(), warning: v.optional(v.string()) }),
  v.object({ error: v.string() }),
]);
export type RevocationAnswer = v.InferOutput<typeof revocationAnswerSchema>;
