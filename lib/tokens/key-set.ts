import { exportJWK, generateKeyPair } from 'jose';
import * as v from 'valibot';
import { newId } from '../secrets.ts';

/** An ES256 public key as a JWK. @see RFC 7517, RFC 7518 section 6.2 */
export const publicJwk = v.object({
  kid: v.string(),
  kty: v.literal('EC'),
  crv: v.literal('P-256'),
  x: v.string(),
  y: v.string(),
  alg: v.literal('ES256'),
  use: v.literal('sig'),
});
export type PublicJwk = v.InferOutput<typeof publicJwk>;

export const privateJwk = v.object({ ...publicJwk.entries, d: v.string() });
export type PrivateJwk = v.InferOutput<typeof privateJwk>;

/** A key that signs no more, kept for the tokens it has signed. */
const previousKey = v.object({ key: publicJwk, /** Epoch seconds. */ keep_until: v.number() });

/** The signing keys as the secret holds them. `next` is published one period before it signs. */
export const keySet = v.object({
  next: privateJwk,
  current: privateJwk,
  previous: v.array(previousKey),
});
export type KeySet = v.InferOutput<typeof keySet>;

/** A key set for a service that has none yet. */
export const newKeySet = async (): Promise<KeySet> => ({
  next: await newSigningKey(),
  current: await newSigningKey(),
  previous: [],
});

/** What may be known of a key set: every key that a valid token can be signed with, without private parts. */
export const publicKeysOf = ({ next, current, previous }: KeySet): PublicJwk[] =>
  [current, next, ...previous.map(({ key }) => key)].map((key) => v.parse(publicJwk, key));

export async function newSigningKey(): Promise<PrivateJwk> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return v.parse(privateJwk, { ...(await exportJWK(privateKey)), kid: newId('k'), alg: 'ES256', use: 'sig' });
}
