import { importJWK } from 'jose';
import * as v from 'valibot';
import { environment } from '../environment.ts';
import { ServiceError } from '../errors/service-error.ts';
import { rereadAfter } from '../secrets/reread-after.ts';
import { readSecret } from '../secrets/secret-store.ts';
import { keySet, keyThatSigns, type PrivateJwk, signingKeyFreshFor } from './key-set.ts';

const secretId = environment('SIGNING_KEYS_SECRET_ID');

type SigningKey = Pick<PrivateJwk, 'kid' | 'alg'> & { key: Awaited<ReturnType<typeof importJWK>> };

/**
 * The private key that signs access tokens now.
 * @throws ServiceError `temporarily_unavailable` until the first rotation has finished
 */
export const currentSigningKey = rereadAfter(signingKeyFreshFor, readSigningKey);

/** A new secret holds a random text, which is no JSON object. */
const jsonObject = v.pipe(v.string(), v.parseJson(), v.looseObject({}));

async function readSigningKey(): Promise<SigningKey> {
  const secret = v.safeParse(jsonObject, await readSecret(secretId()));
  if (!secret.success) {
    const description = 'The service has no signing key yet; send the request again in a minute.';
    throw new ServiceError('temporarily_unavailable', description, { reason: 'signing_key_missing' });
  }
  const jwk = keyThatSigns(v.parse(keySet, secret.output));
  return { kid: jwk.kid, alg: jwk.alg, key: await importJWK(jwk) };
}
