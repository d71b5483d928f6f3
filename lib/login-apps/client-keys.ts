import { calculateJwkThumbprint, importJWK } from 'jose';
import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { isSoundRsaKey } from '../foundation/rsa-key.ts';
import { invalid } from '../foundation/service-error.ts';
import { replaceCredentials } from '../secrets/item-secrets.ts';
import { clientItem, type LoginAppClient, publicJwkSchema, type StoredKey } from './clients.ts';

/** A new key, and the old one until it is revoked. */
const mostKeys = 2;

const algorithmsByType: Record<string, string[] | undefined> = {
  'EC P-256': ['ES256'],
  'EC P-384': ['ES384'],
  RSA: ['RS256', 'PS256'],
  'OKP Ed25519': ['EdDSA', 'Ed25519'],
};

/**
 * The algorithms that a key may verify; the assertion alone never decides.
 * @see RFC 8725, section 3.1
 */
export function algorithmsOf(jwk: StoredKey['jwk']): string[] {
  const { kty, crv, alg } = jwk;
  if (kty === 'RSA' && !isSoundRsaKey(jwk)) return [];
  const type = crv ? `${kty} ${crv}` : kty;
  const algorithms = algorithmsByType[type] ?? [];
  // A key that names its algorithm is for that one alone.
  return alg === undefined ? algorithms : algorithms.filter((one) => one === alg);
}

const keySetSchema = v.object({
  keys: v.pipe(
    v.array(v.looseObject(publicJwkSchema.entries)),
    v.minLength(1),
    v.maxLength(mostKeys),
  ),
});

/**
 * The public keys of a JWK Set, to be stored.
 * @throws ServiceError naming what is wrong
 * @see RFC 7517, section 5
 */
export async function keysIn(keySet: unknown): Promise<StoredKey[]> {
  if (!v.is(keySetSchema, keySet))
    throw unusable(`must be a JSON object with the list keys: one or ${mostKeys} JSON Web Keys`);
  return Promise.all(keySet.keys.map(storedKeyOf));
}

async function storedKeyOf(given: StoredKey['jwk'] & Record<string, unknown>): Promise<StoredKey> {
  if ('d' in given || 'k' in given) throw unusable('has a secret key; give the public ones alone');
  const jwk = v.parse(publicJwkSchema, given);
  if (jwk.kty === 'RSA' && !isSoundRsaKey(jwk))
    throw unusable(
      'has an RSA key that proves nothing: it needs 2048 to 8192 bits and an odd exponent from 3',
    );
  const [alg] = algorithmsOf(jwk);
  const { use } = given;
  const isForSignatures = (use ?? 'sig') === 'sig';
  if (alg === undefined || !isForSignatures)
    throw unusable(
      'has a key of another kind than RSA, P-256, P-384 or Ed25519, or of another alg or use',
    );
  const isKey = await importJWK(jwk, alg).then(Boolean, () => false);
  if (!isKey) throw unusable('has a key that is broken');
  // The algorithm has two names. @see RFC 9864
  if (jwk.kty === 'OKP') delete jwk.alg;
  return { thumbprint: await calculateJwkThumbprint(jwk), jwk, created_at: timestamp() };
}

const unusable = (problem: string) => invalid(`The key set ${problem}.`);

export const shownKey = ({ thumbprint, created_at }: StoredKey) => ({ thumbprint, created_at });

export const thumbprintsOf = (keys: StoredKey[]): string[] =>
  keys.map(({ thumbprint }) => thumbprint);

/**
 * Replaces the keys of a client.
 * @throws ServiceError for too many, for no credential left, or when somebody else was faster
 */
export async function replaceKeys(loginAppId: string, client: LoginAppClient, keys: StoredKey[]) {
  const existing = thumbprintsOf(client.keys ?? []).join(', ');
  if (keys.length > mostKeys)
    throw invalid(`A client has at most ${mostKeys} keys; revoke one of these first: ${existing}.`);
  const hasCredential = keys.length > 0 || client.secrets.length > 0;
  if (!hasCredential) throw invalid(`${existing} is the only key; rotate first.`);
  await replaceCredentials(clientItem(loginAppId, client.client_id), client, { keys });
}
