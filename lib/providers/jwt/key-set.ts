import { type CryptoKey, importJWK, type JWK, type JWSHeaderParameters } from 'jose';
import * as v from 'valibot';
import { isSoundRsaKey } from '../../foundation/rsa-key.ts';

const keySchema = v.looseObject({ kty: v.string() });
type PublishedKey = v.InferOutput<typeof keySchema>;

/**
 * Key sets as issuers publish them. Members that are no keys are ignored.
 * @see RFC 7517, section 5
 */
export const keySetSchema = v.message(
  v.object({
    keys: v.pipe(
      v.array(v.unknown()),
      v.transform((members) => members.filter((member) => v.is(keySchema, member))),
      v.nonEmpty(),
    ),
  }),
  'it has no keys',
);
export type KeySet = v.InferOutput<typeof keySetSchema>;

/**
 * The type and the curve of the keys for each signature algorithm. All are asymmetric, so that no
 * public key can serve as a shared secret.
 */
const algorithmKeys: Record<string, { kty: string; crv?: string }> = {
  RS256: { kty: 'RSA' },
  RS384: { kty: 'RSA' },
  RS512: { kty: 'RSA' },
  PS256: { kty: 'RSA' },
  PS384: { kty: 'RSA' },
  PS512: { kty: 'RSA' },
  ES256: { kty: 'EC', crv: 'P-256' },
  ES384: { kty: 'EC', crv: 'P-384' },
  ES512: { kty: 'EC', crv: 'P-521' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
  Ed25519: { kty: 'OKP', crv: 'Ed25519' },
};

/** The signature algorithms that are allowed. */
export const algorithms = Object.keys(algorithmKeys);

/** The members of a public key, by its type. Others do not change what it verifies. */
const publicMembers: Record<string, readonly string[]> = {
  RSA: ['kty', 'n', 'e'],
  EC: ['kty', 'crv', 'x', 'y'],
  OKP: ['kty', 'crv', 'x'],
};

/** Keys that may have signed a token. */
export interface Candidates {
  keys: CryptoKey[];
  /** Whether the issuer publishes such keys, but none of them can be used. */
  areUnusable: boolean;
}

/** Imported keys by their public members and the algorithm. */
export type ImportedKeys = Map<string, Promise<CryptoKey | undefined>>;

/**
 * Finds the keys of a set that may have signed a token with this header. A key that is published
 * twice counts once.
 */
export async function findCandidates(
  published: PublishedKey[],
  header: JWSHeaderParameters,
  imported: ImportedKeys,
): Promise<Candidates> {
  const { alg = '' } = header;
  const fitting = published.filter((key) => mayHaveSigned(key, header));
  const usable = fitting.filter(isSound).map((key) => {
    const jwk = publicPartOf(key);
    const name = `${alg} ${JSON.stringify(jwk)}`;
    const known = imported.get(name) ?? importKey(jwk, alg);
    imported.set(name, known);
    return known;
  });
  const distinct = new Set(await Promise.all(usable));
  const keys = [...distinct].filter((key) => key !== undefined);
  return { keys, areUnusable: fitting.length > 0 && keys.length === 0 };
}

/** Whether a key is one that a header names, for its algorithm, and for signatures. */
function mayHaveSigned(key: PublishedKey, { alg = '', kid }: JWSHeaderParameters): boolean {
  const needed = algorithmKeys[alg];
  if (needed?.kty !== key.kty) return false;
  if (needed.crv !== undefined && needed.crv !== key.crv) return false;
  return isNamedBy(kid, key) && isForAlgorithm(key, alg) && isForSignatures(key);
}

/**
 * Whether a header may mean a key. It may name none, and a key may have no id.
 * @see RFC 7515, section 4.1.4; RFC 7517, section 4.5
 */
function isNamedBy(kid: unknown, key: PublishedKey): boolean {
  if (kid === undefined) return true;
  return typeof kid === 'string' && (key.kid === undefined || key.kid === kid);
}

/** Whether a key is for an algorithm. Ed25519 has two names (RFC 9864, section 2.2). */
function isForAlgorithm({ alg }: PublishedKey, wanted: string): boolean {
  const isAnyOfEd25519 = alg === 'EdDSA' || alg === 'Ed25519';
  if (isAnyOfEd25519) return algorithmKeys[wanted]?.crv === 'Ed25519';
  return alg === undefined || alg === wanted;
}

/**
 * Whether a key is for signatures. The `key_ops` of a public key may be those of its private part,
 * and some exports leave the list empty.
 * @see RFC 7517, sections 4.2 and 4.3
 */
function isForSignatures({ use, key_ops: operations }: PublishedKey): boolean {
  if (use === 'enc') return false;
  if (!Array.isArray(operations) || operations.length === 0) return true;
  return operations.includes('verify') || operations.includes('sign');
}

/** Whether the signatures of a key prove anything. Those of a published private key do not. */
function isSound(key: PublishedKey): boolean {
  if (key.d !== undefined) return false;
  return key.kty !== 'RSA' || isSoundRsaKey({ n: key.n, e: key.e });
}

function publicPartOf(key: PublishedKey): JWK {
  const members = publicMembers[key.kty] ?? [];
  const entries = members.map((name) => [name, key[name]]);
  return Object.fromEntries(entries);
}

/** Imports a key; gives undefined for a malformed one. */
async function importKey(jwk: JWK, alg: string): Promise<CryptoKey | undefined> {
  try {
    const key = await importJWK(jwk, alg);
    return key instanceof Uint8Array ? undefined : key;
  } catch {
    return undefined;
  }
}

/** The number of keys in a set that may verify signatures. */
export const countUsable = ({ keys }: KeySet): number =>
  keys.filter((key) => key.kty in publicMembers && isForSignatures(key) && isSound(key)).length;
