import { importJWK } from 'jose';
import * as v from 'valibot';
import { environment } from '../environment.ts';
import { rereadAfter } from '../storage/reread-after.ts';
import { readSecret } from '../storage/secrets.ts';
import { keySet, keyThatSigns, type PrivateJwk, signingKeyFreshFor } from './key-set.ts';

const secretId = environment('SIGNING_KEYS_SECRET_ID');

type SigningKey = Pick<PrivateJwk, 'kid' | 'alg'> & { key: Awaited<ReturnType<typeof importJWK>> };

/** The private key that signs access tokens now. */
export const currentSigningKey = rereadAfter(signingKeyFreshFor, readSigningKey);

async function readSigningKey(): Promise<SigningKey> {
  const secret: unknown = JSON.parse(await readSecret(secretId()));
  const jwk = keyThatSigns(v.parse(keySet, secret));
  return { kid: jwk.kid, alg: jwk.alg, key: await importJWK(jwk) };
}
