import { hkdfSync } from 'node:crypto';
import { environment } from './environment.ts';
import { sha256 } from './secrets.ts';
import { readSecret } from './storage/secrets.ts';

/** A symmetric key of the service, and an id that changes with its secret. */
interface ServiceKey {
  id: string;
  /** 256 bits. */
  key: Buffer;
}

/**
 * The key for one purpose, derived from a secret of its own (HKDF, RFC 5869), so that a function which needs the one
 * cannot read the other. The secret is read once and the key derived once.
 */
export function serviceKeyFor(purpose: string, variable: string): () => Promise<ServiceKey> {
  const secretId = environment(variable);
  let known: Promise<ServiceKey> | undefined;
  const derive = async (): Promise<ServiceKey> => {
    const key = Buffer.from(hkdfSync('sha256', await readSecret(secretId()), '', purpose, 32));
    return { id: sha256(`key id of ${key.toString('base64url')}`).slice(0, 8), key };
  };
  return async () => {
    known ??= derive();
    try {
      return await known;
    } catch (error) {
      known = undefined;
      throw error;
    }
  };
}
