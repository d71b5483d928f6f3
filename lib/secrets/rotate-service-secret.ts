import { environment, environmentSeconds } from '../foundation/environment.ts';
import { logEvent } from '../log/log.ts';
import { giveUp, rotation } from './secret-store.ts';
import {
  isInTime,
  longestRestoreSeconds,
  parseServiceSecret,
  readServiceSecret,
  type ServiceSecret,
  serviceSecretAfter,
} from './service-secret.ts';

const providerSettingsSecretId = environment('PROVIDER_SETTINGS_SECRET_ID');
const idleSeconds = environmentSeconds('SESSION_IDLE_SECONDS');

const isOfProviderSettings = (secretId: string): boolean => secretId === providerSettingsSecretId();

/**
 * For how long a secret is accepted after its rotation. Nobody is logged out: unused refresh tokens live no longer. Tokens of
 * providers that are kept to be revoked are not encrypted again, and a person may go for years without a login.
 */
const keepSeconds = (secretId: string): number =>
  isOfProviderSettings(secretId) ? 5 * 366 * 86_400 : Math.max(idleSeconds(), longestRestoreSeconds);

/**
 * Makes the function that carries out the steps of a rotation of a service secret.
 * @param reencrypt encrypts all provider settings again, with the current key of a secret, and names those that it can't read
 */
export const serviceSecretRotation = (reencrypt: (secret: ServiceSecret) => Promise<string[]>) =>
  rotation<ServiceSecret>({
    parse: parseServiceSecret,

    next: async (secretId) => serviceSecretAfter(await readServiceSecret(secretId), keepSeconds(secretId)),

    /**
     * Encrypts all provider settings again, with the key that every function knows already as the next one. A repetition goes on
     * with those that are left. Settings that nobody can read would stop every repetition, so the rotation is given up, as is one
     * that was prepared too long ago.
     */
    async ready(secret, step) {
      const before = await readServiceSecret(step.SecretId);
      const accepted = [secret.current, ...secret.previous.map(({ text }) => text)];
      if (!accepted.includes(before.current))
        throw new Error('The current secret would no longer be accepted.');
      if (isOfProviderSettings(step.SecretId)) {
        const names = (await reencrypt(secret)).join(', ');
        const unreadable = `These provider settings can be decrypted with no key that is left: ${names}. Set them again, or remove them. Then rotate again.`;
        if (names !== '') await giveUp(step, unreadable);
      }
      if (!isInTime(secret)) await giveUp(step, 'The rotation took too long. Rotate again.');
    },

    async finish(_, secretId) {
      const secret = isOfProviderSettings(secretId) ? 'provider-settings' : 'refresh-tokens';
      logEvent('service_secret_rotated', { secret });
    },
  });
