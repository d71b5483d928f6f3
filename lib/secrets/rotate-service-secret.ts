import { environment, environmentSeconds } from '../environment.ts';
import { logEvent } from '../log/log.ts';
import { reencryptProviderSettings } from '../provider-settings/reencrypt.ts';
import { giveUp, rotation } from './rotation.ts';
import { readSecret } from './secret-store.ts';
import {
  isInTime,
  longestRestoreSeconds,
  parseServiceSecret,
  type ServiceSecret,
  serviceSecretAfter,
} from './service-secret.ts';

const providerSettingsSecretId = environment('PROVIDER_SETTINGS_SECRET_ID');
const idleSeconds = environmentSeconds('SESSION_IDLE_SECONDS');

/** Tokens of providers that are kept to be revoked are not encrypted again, and a person may go for years without a login. */
const keptTokenSeconds = 5 * 366 * 86_400;

const isOfProviderSettings = (secretId: string): boolean => secretId === providerSettingsSecretId();

/** For how long a secret is accepted after its rotation. Nobody is logged out: unused refresh tokens live no longer. */
const keepSeconds = (secretId: string): number =>
  isOfProviderSettings(secretId) ? keptTokenSeconds : Math.max(idleSeconds(), longestRestoreSeconds);

const readCurrent = async (secretId: string): Promise<ServiceSecret> =>
  parseServiceSecret(await readSecret(secretId));

/** Carries out one step of a rotation of a service secret. */
export const rotateServiceSecret = rotation<ServiceSecret>({
  parse: (text) => parseServiceSecret(text),

  prepare: async (secretId) => serviceSecretAfter(await readCurrent(secretId), keepSeconds(secretId)),

  /**
   * Encrypts all provider settings again, with the key that every function knows already as the next one. If it does not
   * get through, Secrets Manager repeats the rotation, which goes on with those that are left.
   */
  async apply(secret, { SecretId }) {
    if (isOfProviderSettings(SecretId)) await reencryptProviderSettings(secret);
  },

  /** Makes sure that what was made with the current secret stays valid. */
  async tryOut({ current, previous }, { SecretId }) {
    const before = await readCurrent(SecretId);
    const accepted = [current, ...previous.map(({ text }) => text)];
    if (!accepted.includes(before.current))
      throw new Error('The current secret would no longer be accepted.');
  },

  /** Gives up a secret that was prepared too long ago. */
  async check(secret, step) {
    if (!isInTime(secret)) await giveUp(step, 'The rotation took too long. Rotate again.');
  },

  async finish(_, { SecretId }) {
    const secret = isOfProviderSettings(SecretId) ? 'provider-settings' : 'refresh-tokens';
    logEvent('service_secret_rotated', { secret });
  },
});
