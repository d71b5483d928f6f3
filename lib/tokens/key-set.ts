import { exportJWK, generateKeyPair } from 'jose';
import * as v from 'valibot';
import { newId } from '../secrets.ts';

/** Milliseconds for which a warm function signs with the key it has read. */
export const signingKeyFreshFor = 5 * 60_000;

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
/** The published keys. @see RFC 7517 section 5 */
export const jwkSet = v.object({ keys: v.array(publicJwk) });
export type PublicJwk = v.InferOutput<typeof publicJwk>;

const privateJwk = v.object({ ...publicJwk.entries, d: v.string() });
type PrivateJwk = v.InferOutput<typeof privateJwk>;

/** A published key. One that no longer signs is kept as long as the tokens it signed are valid. */
export const publishedKey = v.object({
  key: publicJwk,
  /** Epoch seconds; absent for keys that sign, or will. */
  keep_until: v.optional(v.number()),
});
export type PublishedKey = v.InferOutput<typeof publishedKey>;

/** The signing keys as the secret holds them. `next` is published one period before it signs. */
export const keySet = v.object({
  next: privateJwk,
  current: privateJwk,
  /** The one that signed before; absent in the first set. */
  previous: v.optional(publicJwk),
});
export type KeySet = v.InferOutput<typeof keySet>;

/** A key set for a service that has none yet. */
export const newKeySet = async (): Promise<KeySet> => ({
  next: await newSigningKey(),
  current: await newSigningKey(),
});

/** The keys of a set that tokens are signed with now, or will be, without their private parts. */
export const signingKeysOf = ({ next, current }: KeySet): PublicJwk[] =>
  [current, next].map((key) => v.parse(publicJwk, key));

export async function newSigningKey(): Promise<PrivateJwk> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return v.parse(privateJwk, { ...(await exportJWK(privateKey)), kid: newId('k'), alg: 'ES256', use: 'sig' });
}
