import { randomBytes } from 'node:crypto';
import { epochSeconds, isoTime } from '../foundation/clock.ts';
import { environment, environmentSeconds } from '../foundation/environment.ts';
import { logEvent } from '../log/log.ts';
import { giveUp, rotation, staleReadSeconds } from './secret-store.ts';
import {
  parseServiceSecret,
  readServiceSecret,
  type ServiceSecret,
  serviceSecretFreshFor,
} from './service-secret.ts';

const providerSettingsSecretId = environment('PROVIDER_SETTINGS_SECRET_ID');
const idleSeconds = environmentSeconds('SESSION_IDLE_SECONDS');

const isOfProviderSettings = (secretId: string): boolean => secretId === providerSettingsSecretId();

/** Seconds within which a rotation must be finished. */
const finishSeconds = 240;

/**
 * Seconds after which every function knows a new secret: the rotation is finished, and no warm
 * function has an older read.
 */
const noticeSeconds = finishSeconds + serviceSecretFreshFor / 1000 + staleReadSeconds;

/**
 * A table can be restored as it was up to 35 days ago, with provider settings that were encrypted
 * then.
 */
const longestRestoreSeconds = 35 * 86_400;

/**
 * Tokens of providers that are kept to be revoked are not encrypted again, and a person may go for
 * years without a login.
 */
const longestProviderTokenSeconds = 5 * 366 * 86_400;

/**
 * Seconds for which a replaced secret is accepted: as long as there may be something that was made
 * with it, such as a refresh token that nobody uses.
 */
function keepSeconds(secretId: string): number {
  if (isOfProviderSettings(secretId)) return longestProviderTokenSeconds;
  return Math.max(idleSeconds(), longestRestoreSeconds);
}

/**
 * The secret after a rotation; the first only adds `next`.
 * @param keptFor seconds for the old one
 * @throws Error if too early
 */
export function serviceSecretAfter({ current, next, previous }: ServiceSecret, keptFor: number) {
  const now = epochSeconds();
  const following = { text: randomBytes(48).toString('base64url'), made_at: now };
  if (!next) return { current, next: following, previous };
  const knownFrom = next.made_at + noticeSeconds;
  if (now < knownFrom) {
    const again = isoTime(knownFrom);
    throw new Error(`The next secret is not known everywhere yet. Rotate again after ${again}.`);
  }
  const keep_until = now + noticeSeconds + keptFor;
  const kept = previous.filter((one) => one.keep_until > now);
  return {
    current: next.text,
    next: following,
    previous: [{ text: current, keep_until }, ...kept],
  };
}

/**
 * Rotates service secrets.
 * @param reencrypt encrypts provider settings with a secret's current key, and names unreadable
 *   ones
 */
export const serviceSecretRotation = (reencrypt: (secret: ServiceSecret) => Promise<string[]>) =>
  rotation<ServiceSecret>({
    parse: parseServiceSecret,

    next: async (secretId) =>
      serviceSecretAfter(await readServiceSecret(secretId), keepSeconds(secretId)),

    /**
     * Encrypts provider settings again, with a key that all functions know. Unreadable ones would
     * fail every repetition.
     */
    async ready(secret, step) {
      const before = await readServiceSecret(step.SecretId);
      const accepted = [secret.current, ...secret.previous.map(({ text }) => text)];
      if (!accepted.includes(before.current))
        throw new Error('The current secret would no longer be accepted.');
      if (isOfProviderSettings(step.SecretId)) {
        const unreadable = await reencrypt(secret);
        if (unreadable.length > 0) await giveUp(step, cannotBeDecrypted(unreadable));
      }
      // `noticeSeconds` counts on a rotation that ends in time.
      const isInTime = secret.next && epochSeconds() <= secret.next.made_at + finishSeconds;
      if (!isInTime) await giveUp(step, 'The rotation took too long. Rotate again.');
    },

    async finish(_, secretId) {
      const secret = isOfProviderSettings(secretId) ? 'provider-settings' : 'refresh-tokens';
      logEvent('service_secret_rotated', { secret });
    },
  });

const cannotBeDecrypted = (settings: string[]): string =>
  `These provider settings can be decrypted with no key that is left: ${settings.join(', ')}. Set them again, or remove them. Then rotate again.`;
