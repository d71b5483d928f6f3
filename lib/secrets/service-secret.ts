import { createSecretKey, hkdfSync } from 'node:crypto';
import * as v from 'valibot';
import { environment } from '../foundation/environment.ts';
import { refreshAfter } from './refresh-after.ts';
import { readSecret } from './secret-store.ts';
import { sha256 } from './secrets.ts';

/** Milliseconds that a warm function uses a service secret. */
export const serviceSecretFreshFor = 5 * 60_000;

/**
 * A service secret, from which keys are derived. Functions write with `current`, accept all, and
 * know `next` in advance.
 */
const serviceSecretSchema = v.object({
  current: v.string(),
  /** Absent until the first rotation. */
  next: v.exactOptional(v.object({ text: v.string(), made_at: v.number() })),
  previous: v.array(v.object({ text: v.string(), keep_until: v.number() })),
});
export type ServiceSecret = v.InferOutput<typeof serviceSecretSchema>;

/**
 * Parses a secret: JSON or, until its first rotation, letters and digits of CloudFormation.
 * @throws Error if it is damaged
 */
export function parseServiceSecret(text: string, secretId: string): ServiceSecret {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), serviceSecretSchema), text);
  if (result.success) return result.output;
  if (text.trimStart().startsWith('{'))
    throw new Error(
      `The secret ${secretId} is damaged: it begins as JSON does, but is no service secret.`,
    );
  return { current: text, previous: [] };
}

/** @throws Error if the secret is damaged */
export const readServiceSecret = async (secretId: string): Promise<ServiceSecret> =>
  parseServiceSecret(await readSecret(secretId), secretId);

/**
 * Derives keys of 256 bits for one purpose: the current one and, by their ids, all that are
 * accepted.
 * @see RFC 5869 (HKDF)
 */
export function serviceKeysFrom(secret: ServiceSecret, purpose: string) {
  const derive = (text: string) => {
    const bytes = Buffer.from(hkdfSync('sha256', text, '', purpose, 32));
    const id = sha256(`key id of ${bytes.toString('base64url')}`).slice(0, 8);
    // With such an object, Node makes a HMAC in a sixth of the time.
    return { id, key: createSecretKey(bytes) };
  };
  const current = derive(secret.current);
  const accepted = [current];
  if (secret.next) accepted.push(derive(secret.next.text));
  for (const { text } of secret.previous) accepted.push(derive(text));
  const byId = new Map(accepted.map((key) => [key.id, key]));
  return { current, withId: (id: string) => byId.get(id) };
}
export type ServiceKeys = ReturnType<typeof serviceKeysFrom>;

/**
 * Reads the keys for one purpose.
 * @param variable the environment variable with the secret's id
 */
export function serviceKeysFor(purpose: string, variable: string): () => Promise<ServiceKeys> {
  const secretId = environment(variable);
  return refreshAfter({
    secretId,
    freshFor: serviceSecretFreshFor,
    read: async (id) => serviceKeysFrom(await readServiceSecret(id), purpose),
  });
}
