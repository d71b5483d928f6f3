// Secrets: random ones and their hashes, those in items, and the service's own in Secrets Manager with their rotation.
// The signing keys have a room of their own. It calls Secrets Manager and the storage.

import { createSecretKey, hkdfSync, randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { epochSeconds, isoTime } from '../foundation/clock.ts';
import { environment } from '../foundation/environment.ts';
import { refreshAfter } from './refresh-after.ts';
import { readSecret, staleReadSeconds } from './secret-store.ts';
import { sha256 } from './secrets.ts';

/** Milliseconds for which a warm function uses a service secret that it has read. */
export const serviceSecretFreshFor = 5 * 60_000;

/** Seconds within which a rotation that has made a secret must be finished. */
const finishSeconds = 240;

/** Seconds after which every function knows a new secret: the rotation is finished, and no warm function has an older read. */
const noticeSeconds = finishSeconds + serviceSecretFreshFor / 1000 + staleReadSeconds;

/** A table can be restored as it was up to 35 days ago, with provider settings that were encrypted then. */
export const longestRestoreSeconds = 35 * 86_400;

/**
 * A service secret, from which keys are derived. Functions use `current` for what is new, and accept all. `next` is known
 * everywhere before it becomes the current one, so that no function meets a key that it does not know.
 */
const serviceSecretSchema = v.object({
  current: v.string(),
  /** Absent until the first rotation. */
  next: v.exactOptional(v.object({ text: v.string(), made_at: v.number() })),
  previous: v.array(v.object({ text: v.string(), keep_until: v.number() })),
});
export type ServiceSecret = v.InferOutput<typeof serviceSecretSchema>;

/** Reads the text of a secret: until its first rotation, letters and digits from CloudFormation. @throws Error when it is damaged */
export function parseServiceSecret(text: string, secretId: string): ServiceSecret {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), serviceSecretSchema), text);
  if (result.success) return result.output;
  if (text.trimStart().startsWith('{'))
    throw new Error(`The secret ${secretId} is damaged: it begins as JSON does, but is no service secret.`);
  return { current: text, previous: [] };
}

/** The value that a service secret has now. @throws Error when its text is damaged */
export const readServiceSecret = async (secretId: string): Promise<ServiceSecret> =>
  parseServiceSecret(await readSecret(secretId), secretId);

/**
 * The secret that a rotation puts in the place of another, which is accepted for some seconds more. The first rotation only
 * adds the next secret.
 * @throws Error when the next secret may not be known everywhere yet
 */
export function serviceSecretAfter({ current, next, previous }: ServiceSecret, keepSeconds: number) {
  const now = epochSeconds();
  const following = { text: randomBytes(48).toString('base64url'), made_at: now };
  if (!next) return { current, next: following, previous };
  if (now < next.made_at + noticeSeconds) {
    const again = isoTime(next.made_at + noticeSeconds);
    throw new Error(`The next secret is not known everywhere yet. Rotate again after ${again}.`);
  }
  const keep_until = now + noticeSeconds + keepSeconds;
  const kept = previous.filter((one) => one.keep_until > now);
  return { current: next.text, next: following, previous: [{ text: current, keep_until }, ...kept] };
}

/** Whether a prepared secret may still become the current one: its next one is known everywhere only after that. */
export const isInTime = ({ next }: ServiceSecret): boolean =>
  next !== undefined && epochSeconds() <= next.made_at + finishSeconds;

/**
 * The keys for one purpose, derived from a secret (HKDF, RFC 5869): the current one, with which new tokens and ciphertexts are
 * made, and by their ids all that are accepted. An id changes with the secret; a key has 256 bits.
 */
export function serviceKeysFrom(secret: ServiceSecret, purpose: string) {
  const derive = (text: string) => {
    const bytes = Buffer.from(hkdfSync('sha256', text, '', purpose, 32));
    const id = sha256(`key id of ${bytes.toString('base64url')}`).slice(0, 8);
    // Node makes a HMAC with such an object in a sixth of the time that it takes with the bytes.
    return { id, key: createSecretKey(bytes) };
  };
  const others = [...(secret.next ? [secret.next.text] : []), ...secret.previous.map(({ text }) => text)];
  const current = derive(secret.current);
  const keys = new Map([current, ...others.map(derive)].map((key) => [key.id, key]));
  return { current, withId: (id: string) => keys.get(id) };
}
export type ServiceKeys = ReturnType<typeof serviceKeysFrom>;

/** Reads the keys of one purpose from the secret that an environment variable names. A warm function reads it again every five minutes. */
export function serviceKeysFor(purpose: string, variable: string): () => Promise<ServiceKeys> {
  const secretId = environment(variable);
  return refreshAfter({
    secretId,
    freshFor: serviceSecretFreshFor,
    read: async (id) => serviceKeysFrom(await readServiceSecret(id), purpose),
  });
}
