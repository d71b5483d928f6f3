import { hkdfSync } from 'node:crypto';
import { environment } from './environment.ts';
import { sha256 } from './secrets.ts';
import { readSecret } from './storage/secrets.ts';

/** A symmetric key of the service and the id that says which secret it comes from. */
interface ServiceKey {
  id: string;
  /** 256 bits. */
  key: Buffer;
}

const secretId = environment('SERVICE_SECRET_ID');

let secret: Promise<string> | undefined;

/** The key for one purpose, derived from the service secret (HKDF, RFC 5869); the secret is read once. */
export async function serviceKey(purpose: 'refresh-token' | 'provider-settings'): Promise<ServiceKey> {
  secret ??= readSecret(secretId());
  try {
    const key = Buffer.from(hkdfSync('sha256', await secret, '', purpose, 32));
    return { id: sha256(`key id of ${key.toString('base64url')}`).slice(0, 8), key };
  } catch (error) {
    secret = undefined;
    throw error;
  }
}
