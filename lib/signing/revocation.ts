import * as v from 'valibot';

/** The event with which the operator function calls the rotation function: the id of the key to revoke. */
export const signingKeyRevocationSchema = v.object({ revoke: v.string() });
export type SigningKeyRevocation = v.InferOutput<typeof signingKeyRevocationSchema>;

/** The key that signs from now on and what that breaks, or why nothing was revoked. */
export const revocationAnswerSchema = v.union([
  v.object({ signing_kid: v.string(), warning: v.optional(v.string()) }),
  v.object({ error: v.string() }),
]);
export type RevocationAnswer = v.InferOutput<typeof revocationAnswerSchema>;
