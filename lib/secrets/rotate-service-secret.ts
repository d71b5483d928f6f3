import { environment, environmentSeconds } from '../environment.ts';
import { logEvent } from '../log/log.ts';
import { reencryptProviderSettings } from '../provider-settings/reencrypt.ts';
import type { RotationStep, RotationSteps } from './rotation-step.ts';
import {
  abandonPending,
  makeCurrent,
  putPendingSecret,
  readPendingSecret,
  readSecret,
  versionAt,
} from './secret-store.ts';
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

/** For how long a secret is accepted after its rotation. Nobody is logged out: unused refresh tokens live no longer. */
const keepSeconds = (secretId: string): number =>
  secretId === providerSettingsSecretId() ? keptTokenSeconds : Math.max(idleSeconds(), longestRestoreSeconds);

/** Carries out one step of a rotation of a service secret. */
export const rotateServiceSecret = (step: RotationStep): Promise<void> => steps[step.Step](step);

const steps: RotationSteps = {
  /** Prepares the secret that follows the current one. */
  async createSecret({ SecretId, ClientRequestToken }) {
    if (await readPendingSecret(SecretId, ClientRequestToken)) return;
    const following = serviceSecretAfter(
      parseServiceSecret(await readSecret(SecretId)),
      keepSeconds(SecretId),
    );
    await putPendingSecret(SecretId, ClientRequestToken, JSON.stringify(following));
  },

  /**
   * Encrypts all provider settings again, with the key that every function knows already as the next one. If it does not
   * get through, Secrets Manager repeats the rotation, which goes on with those that are left.
   */
  async setSecret(step) {
    if (step.SecretId === providerSettingsSecretId()) await reencryptProviderSettings(await prepared(step));
  },

  /** Makes sure that what was made with the current secret stays valid. */
  async testSecret(step) {
    const { current, previous } = await prepared(step);
    const before = parseServiceSecret(await readSecret(step.SecretId));
    const accepted = [current, ...previous.map(({ text }) => text)];
    if (!accepted.includes(before.current))
      throw new Error('The current secret would no longer be accepted.');
  },

  /** Makes the prepared secret the current one, or gives it up if it was prepared too long ago. */
  async finishSecret(step) {
    const { SecretId, ClientRequestToken } = step;
    const version = await versionAt(SecretId, 'AWSCURRENT');
    if (version === ClientRequestToken) return;
    if (!isInTime(await prepared(step))) {
      await abandonPending(SecretId, ClientRequestToken);
      throw new Error('The rotation took too long. Rotate again.');
    }
    await makeCurrent(SecretId, ClientRequestToken, version);
    const of = SecretId === providerSettingsSecretId() ? 'provider-settings' : 'refresh-tokens';
    logEvent('service_secret_rotated', { secret: of });
  },
};

async function prepared({ SecretId, ClientRequestToken }: RotationStep): Promise<ServiceSecret> {
  const secret = await readPendingSecret(SecretId, ClientRequestToken);
  if (secret === undefined) throw new Error('The rotation has prepared no secret.');
  return parseServiceSecret(secret);
}
