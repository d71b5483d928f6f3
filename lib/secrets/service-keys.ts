import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { environment } from '../foundation/environment.ts';
import { refreshAfter } from './refresh-after.ts';
import { sha256 } from './secrets.ts';
import { readServiceSecret, type ServiceSecret, serviceSecretFreshFor } from './service-secret.ts';

/** A symmetric key of the service, and an id that changes with its secret. */
interface ServiceKey {
  id: string;
  /** 256 bits. Node makes a HMAC with such an object in a sixth of the time that it takes with the bytes. */
  key: KeyObject;
}

export interface ServiceKeys {
  /** The key that new tokens and ciphertexts are made with. */
  current: ServiceKey;
  /** The current key, or another one that is accepted; undefined for a key that is unknown or gone. */
  withId(id: string): ServiceKey | undefined;
}

/**
 * The keys for one purpose, derived from a secret of its own (HKDF, RFC 5869), so that a function which needs the one
 * cannot read the other.
 */
export function serviceKeysFrom(secret: ServiceSecret, purpose: string): ServiceKeys {
  const derive = (text: string): ServiceKey => {
    const bytes = Buffer.from(hkdfSync('sha256', text, '', purpose, 32));
    const id = sha256(`key id of ${bytes.toString('base64url')}`).slice(0, 8);
    return { id, key: createSecretKey(bytes) };
  };
  const others = [...(secret.next ? [secret.next.text] : []), ...secret.previous.map(({ text }) => text)];
  const current = derive(secret.current);
  const keys = new Map([current, ...others.map(derive)].map((key) => [key.id, key]));
  return { current, withId: (id) => keys.get(id) };
}

/** Reads the keys of one purpose from the secret that an environment variable names. A warm function reads it again every five minutes. */
export function serviceKeysFor(purpose: string, variable: string): () => Promise<ServiceKeys> {
  const secretId = environment(variable);
  return refreshAfter({
    secretId,
    freshFor: serviceSecretFreshFor,
    read: async (id) => serviceKeysFrom(await readServiceSecret(id), purpose),
  });
}
