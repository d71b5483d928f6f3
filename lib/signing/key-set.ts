import { exportJWK, generateKeyPair } from 'jose';
import * as v from 'valibot';
import { epochSeconds, isoTime } from '../foundation/clock.ts';
import { newId } from '../foundation/ids.ts';
import type { TokenAlgorithm } from './settings.ts';

/** Milliseconds that a warm function signs with a key. */
export const signingKeyFreshFor = 4 * 60_000;

/** Seconds that a key of a new algorithm is published before it signs. */
const noticeSeconds = 86_400;

/**
 * Seconds until verifiers know a new key: functions and caches keep keys for 5 minutes each, API
 * Gateway for up to 2 hours.
 */
const spreadSeconds = 7_200 + 600;

const signing = { kid: v.string(), use: v.literal('sig') };
/** @see RFC 7518 section 6.3 */
const rsa = {
  ...signing,
  alg: v.literal('RS256'),
  kty: v.literal('RSA'),
  n: v.string(),
  e: v.string(),
};
/** @see RFC 7518 section 6.2 */
const p256 = {
  ...signing,
  alg: v.literal('ES256'),
  kty: v.literal('EC'),
  crv: v.literal('P-256'),
  x: v.string(),
  y: v.string(),
};

/**
 * A public key as a JWK.
 * @see RFC 7517
 */
const publicJwkSchema = v.variant('alg', [v.object(rsa), v.object(p256)]);
export const jwkSetSchema = v.object({ keys: v.array(publicJwkSchema) });
export type PublicJwk = v.InferOutput<typeof publicJwkSchema>;

const text = v.string();
const privateJwkSchema = v.variant('alg', [
  v.object({ ...rsa, d: text, p: text, q: text, dp: text, dq: text, qi: text }),
  v.object({ ...p256, d: text }),
]);
export type PrivateJwk = v.InferOutput<typeof privateJwkSchema>;

export const publishedKeySchema = v.object({
  key: publicJwkSchema,
  /** Epoch seconds from which its tokens are rejected; absent for keys that sign, or will. */
  keep_until: v.exactOptional(v.number()),
});
export type PublishedKey = v.InferOutput<typeof publishedKeySchema>;

/** The signing keys in the secret. Their algorithms may differ. */
export const keySetSchema = v.object({
  current: privateJwkSchema,
  /** Published, but doesn't sign yet. */
  next: privateJwkSchema,
  /** Epoch seconds from which `next` signs; absent if only the next rotation decides. */
  takes_over_at: v.exactOptional(v.number()),
  /** Epoch seconds. */
  next_made_at: v.number(),
});
export type KeySet = v.InferOutput<typeof keySetSchema>;

export const newKeySet = async (algorithm: TokenAlgorithm): Promise<KeySet> =>
  withNewNext(await newSigningKey(algorithm), algorithm);

/**
 * A key that signs, and a new next one, which takes over after a day if it is of another algorithm.
 */
async function withNewNext(current: PrivateJwk, algorithm: TokenAlgorithm): Promise<KeySet> {
  const next_made_at = epochSeconds();
  const next = await newSigningKey(algorithm);
  if (current.alg === algorithm) return { current, next, next_made_at };
  return { current, next, takes_over_at: next_made_at + noticeSeconds, next_made_at };
}

/**
 * The key set after a rotation. `next` signs at once, unless it is of another algorithm than the
 * wanted one.
 * @param published the published keys. After the loss of a table they lack `next`, and waiting
 *   would help nobody
 * @throws Error if verifiers may not know `next` yet
 */
export async function keySetAfter(
  set: KeySet,
  algorithm: TokenAlgorithm,
  published: PublishedKey[],
) {
  if (set.next.alg !== algorithm) return withNewNext(keyThatSigns(set), algorithm);
  const knownFrom = nextKnownFrom(set);
  const isPublished = published.some(({ key }) => key.kid === set.next.kid);
  if (isPublished && epochSeconds() < knownFrom)
    throw new Error(
      `Verifiers may not know the next key yet. Rotate again after ${isoTime(knownFrom)}.`,
    );
  return withNewNext(set.next, algorithm);
}

const nextKnownFrom = ({ takes_over_at, next_made_at }: KeySet): number =>
  takes_over_at ?? next_made_at + spreadSeconds;

/** Epoch seconds from which verifiers know the key that signs after another key set. */
export function signingKeyKnownFrom(following: KeySet, before: KeySet): number {
  const { kid } = keyThatSigns(following);
  if (kid === keyThatSigns(before).kid) return 0;
  return kid === before.next.kid ? nextKnownFrom(before) : epochSeconds() + spreadSeconds;
}

/**
 * The key set in place of one with revoked keys; undefined if it has none. The published next key
 * takes the place of the one that signs, or a new key if both are revoked.
 */
export async function keySetWithout(set: KeySet, revoked: string[], algorithm: TokenAlgorithm) {
  const isGood = ({ kid }: PrivateJwk): boolean => !revoked.includes(kid);
  if (isGood(set.current) && isGood(set.next)) return undefined;
  const hasTakenOver = keyThatSigns(set) === set.next;
  const candidates = hasTakenOver ? [set.next] : [set.current, set.next];
  const signing = candidates.find(isGood) ?? (await newSigningKey(algorithm));
  return withNewNext(signing, algorithm);
}

export const keyThatSigns = ({ current, next, takes_over_at = Infinity }: KeySet): PrivateJwk =>
  takes_over_at <= epochSeconds() ? next : current;

/** The key set in the text of a secret, if any. */
export function parseKeySet(secret: string): KeySet | undefined {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), keySetSchema), secret);
  return result.success ? result.output : undefined;
}

export const publicPartOf = (key: PrivateJwk): PublicJwk => v.parse(publicJwkSchema, key);

async function newSigningKey(alg: TokenAlgorithm): Promise<PrivateJwk> {
  // The length is ignored for ES256.
  const { privateKey } = await generateKeyPair(alg, { modulusLength: 2048, extractable: true });
  return v.parse(privateJwkSchema, {
    ...(await exportJWK(privateKey)),
    kid: newId('k'),
    alg,
    use: 'sig',
  });
}
