import { importJWK } from 'jose';
import * as v from 'valibot';
import { clock } from '../clock.ts';
import { environment } from '../environment.ts';
import { readSecret } from '../storage/secrets.ts';
import { keySet, keyThatSigns, type PrivateJwk, signingKeyFreshFor } from './key-set.ts';

const secretId = environment('SIGNING_KEYS_SECRET_ID');

type SigningKey = Pick<PrivateJwk, 'kid' | 'alg'> & { key: Awaited<ReturnType<typeof importJWK>> };

let remembered: { key: Promise<SigningKey>; readAt: number } | undefined;

/** The private key that signs access tokens now. */
export async function currentSigningKey(): Promise<SigningKey> {
  const now = clock.now().getTime();
  if (!remembered || now - remembered.readAt >= signingKeyFreshFor) {
    remembered = { key: readSigningKey(), readAt: now };
  }
  try {
    return await remembered.key;
  } catch (error) {
    remembered = undefined;
    throw error;
  }
}

async function readSigningKey(): Promise<SigningKey> {
  const secret: unknown = JSON.parse(await readSecret(secretId()));
  const jwk = keyThatSigns(v.parse(keySet, secret));
  return { kid: jwk.kid, alg: jwk.alg, key: await importJWK(jwk) };
}
