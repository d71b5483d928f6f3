import { createPrivateKey, sign } from 'node:crypto';
import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { environment } from '../foundation/environment.ts';
import { ServiceError } from '../foundation/service-error.ts';
import { refreshAfter } from '../secrets/refresh-after.ts';
import { readSecret } from '../secrets/secret-store.ts';
import { keySetSchema, keyThatSigns, signingKeyFreshFor } from './key-set.ts';
import { readPublished } from './published-keys.ts';
import { accessTokenLifetime } from './settings.ts';

/**
 * The private key that signs access tokens.
 * @throws ServiceError `temporarily_unavailable` until there is one
 */
const currentSigningKey = refreshAfter({
  secretId: environment('SIGNING_KEYS_SECRET_ID'),
  freshFor: signingKeyFreshFor,
  read: readSigningKey,
  // A key out of use signs no token that would outlive it.
  isGood: async ({ kid }) => {
    const { keys } = await readPublished();
    const published = keys.find(({ key }) => key.kid === kid);
    if (!published) return false;
    const { keep_until = Infinity } = published;
    return keep_until >= epochSeconds() + accessTokenLifetime();
  },
});

// Until the first rotation, the secret has a random text.
const jsonObjectSchema = v.pipe(v.string(), v.parseJson(), v.looseObject({}));

async function readSigningKey(secretId: string) {
  const secret = v.safeParse(jsonObjectSchema, await readSecret(secretId));
  if (!secret.success) {
    const description = 'The service has no signing key yet; send the request again in a minute.';
    throw new ServiceError('temporarily_unavailable', description, 'signing_key_missing');
  }
  const jwk = keyThatSigns(v.parse(keySetSchema, secret.output));
  return { kid: jwk.kid, alg: jwk.alg, key: createPrivateKey({ format: 'jwk', key: jwk }) };
}

/**
 * Signs a JWT with the current key, for half of what jose's WebCrypto costs.
 * @see RFC 7515, section 7.1; RFC 7518, section 3
 */
export async function signJwt(typ: string, claims: object): Promise<string> {
  const { kid, alg, key } = await currentSigningKey();
  const header = { alg, typ, kid };
  const text = `${base64url(header)}.${base64url(claims)}`;
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

const base64url = (content: object): string =>
  Buffer.from(JSON.stringify(content)).toString('base64url');
