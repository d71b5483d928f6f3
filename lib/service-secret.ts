import { hkdfSync } from 'node:crypto';
import { environment } from './environment.ts';
import { sha256 } from './secrets.ts';
import { readSecret } from './storage/secrets.ts';

/** A symmetric key of the service, and an id that changes with the service secret. */
interface ServiceKey {
  id: string;
  /** 256 bits. */
  key: Buffer;
}

type Purpose = 'refresh-token' | 'provider-settings';

const secretId = environment('SERVICE_SECRET_ID');

let secret: Promise<string> | undefined;
const derived = new Map<Purpose, ServiceKey>();

/** The key for one purpose, derived from the service secret (HKDF, RFC 5869). The secret is read once, each key derived once. */
export async function serviceKey(purpose: Purpose): Promise<ServiceKey> {
  const known = derived.get(purpose);
  if (known) return known;
  secret ??= readSecret(secretId());
  try {
    const key = Buffer.from(hkdfSync('sha256', await secret, '', purpose, 32));
    const serviceKey = { id: sha256(`key id of ${key.toString('base64url')}`).slice(0, 8), key };
    derived.set(purpose, serviceKey);
    return serviceKey;
  } catch (error) {
    secret = undefined;
    throw error;
  }
}
