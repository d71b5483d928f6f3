import * as v from 'valibot';

/** What the operator function calls the rotation function with: the id of the key to revoke. */
export const signingKeyRevocation = v.object({ revoke: v.string() });
export type SigningKeyRevocation = v.InferOutput<typeof signingKeyRevocation>;

/** The key that signs from now on and what that breaks, or why nothing was revoked. */
export const revocationAnswer = v.union([
  v.object({ signing_kid: v.string(), warning: v.exactOptional(v.string()) }),
  v.object({ error: v.string() }),
]);
export type RevocationAnswer = v.InferOutput<typeof revocationAnswer>;
