// Secrets: random ones and their hashes, those in items, and the service's own in Secrets Manager with their rotation.
// The signing keys have a room of their own. It calls Secrets Manager and the storage.

import { randomBytes } from 'node:crypto';
import * as v from 'valibot';
import { epochSeconds, isoTime } from '../foundation/clock.ts';
import { staleReadSeconds } from './rotation.ts';
import { readSecret } from './secret-store.ts';

/** Milliseconds for which a warm function uses a service secret that it has read. */
export const serviceSecretFreshFor = 5 * 60_000;

/** Seconds within which a rotation that has made a secret must be finished. */
const finishSeconds = 240;

/**
 * Seconds after which every function knows a new secret: the rotation is finished, a warm function reads the secret again
 * after 5 minutes, and Secrets Manager may answer with the version before for a minute more.
 */
const noticeSeconds = finishSeconds + serviceSecretFreshFor / 1000 + staleReadSeconds;

const days = 86_400;
/** A table can be restored as it was up to 35 days ago, with provider settings that were encrypted then. */
export const longestRestoreSeconds = 35 * days;

/**
 * A service secret, from which the keys of one purpose are derived. Functions use `current` for what is new, and accept all. `next` is known
 * everywhere before it becomes the current one, so that no function meets a key that it does not know.
 */
const serviceSecretSchema = v.object({
  current: v.string(),
  /** Absent until the first rotation. */
  next: v.exactOptional(v.object({ text: v.string(), made_at: v.number() })),
  previous: v.array(v.object({ text: v.string(), keep_until: v.number() })),
});
export type ServiceSecret = v.InferOutput<typeof serviceSecretSchema>;

/**
 * Reads the text of a secret. Before its first rotation, that is the one that CloudFormation has generated: letters and
 * digits.
 * @throws Error naming the secret, when the text is damaged
 */
export function parseServiceSecret(text: string, secretId: string): ServiceSecret {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), serviceSecretSchema), text);
  if (result.success) return result.output;
  if (text.trimStart().startsWith('{'))
    throw new Error(`The secret ${secretId} is damaged: it begins as JSON does, but is no service secret.`);
  return { current: text, previous: [] };
}

/** The value that a service secret has now. @throws Error naming the secret, when its text is damaged */
export const readServiceSecret = async (secretId: string): Promise<ServiceSecret> =>
  parseServiceSecret(await readSecret(secretId), secretId);

/**
 * The secret that a rotation puts in the place of another. The first one only adds the next secret.
 * @param keepSeconds for how long a secret that is replaced is still accepted
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
