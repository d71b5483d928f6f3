import { CompactSign, compactVerify, importJWK } from 'jose';
import { logEvent } from '../log/log.ts';
import type { RotationStep, RotationSteps } from '../secrets/rotation-step.ts';
import {
  makeCurrent,
  putPendingSecret,
  readPendingSecret,
  readSecret,
  versionAt,
} from '../secrets/secret-store.ts';
import { type KeySet, keySetAfter, newKeySet, parseKeySet } from './key-set.ts';
import { publishedAfter } from './keys-to-publish.ts';
import { publish, readPublished } from './public-keys.ts';
import { wantedAlgorithm } from './wanted-algorithm.ts';

/** Carries out one step of a rotation of the signing keys. */
export const rotateSigningKeys = (step: RotationStep): Promise<void> => steps[step.Step](step);

const steps: RotationSteps = {
  /**
   * Prepares the key set that follows the current one. Its public keys are published first, so that every token can be
   * verified before one is signed, and so that the notice that a key of another algorithm needs begins with it. The key
   * that signs until the last step gets no end yet, since that step may come late.
   */
  async createSecret({ SecretId, ClientRequestToken }) {
    if (await readPendingSecret(SecretId, ClientRequestToken)) return;
    const published = await readPublished();
    const set = parseKeySet(await readSecret(SecretId));
    const algorithm = wantedAlgorithm();
    const following = await (set ? keySetAfter(set, algorithm) : newKeySet(algorithm));
    requireNoneRevoked(following, published.revoked);
    const keys = publishedAfter(published, [following, ...(set ? [set] : [])]);
    await publish({ ...published, keys }, published);
    await putPendingSecret(SecretId, ClientRequestToken, JSON.stringify(following));
  },

  /** Does nothing: the keys are needed only in the table, where they are already. */
  async setSecret() {},

  /** Signs with each prepared key and verifies with what was published. */
  async testSecret(step) {
    const { SecretId, ClientRequestToken } = step;
    const { current, next } = preparedKeySet(await readPendingSecret(SecretId, ClientRequestToken));
    const { keys } = await readPublished();
    const message = new TextEncoder().encode(step.ClientRequestToken);
    for (const jwk of [current, next]) {
      const { key } = keys.find(({ key: { kid } }) => kid === jwk.kid) ?? {};
      if (!key) throw new Error('A key that is to sign is not published.');
      const signature = new CompactSign(message).setProtectedHeader({ alg: jwk.alg });
      await compactVerify(await signature.sign(await importJWK(jwk)), await importJWK(key));
    }
  },

  /**
   * Makes the prepared key set the current one. From now on the keys that no longer sign are published for as long as
   * their tokens are valid. The key set is read by its version: the current one may still be the one before. The
   * current version is asked for before the revoked keys, so that a revocation in between makes this step fail.
   */
  async finishSecret({ SecretId, ClientRequestToken }) {
    const version = await versionAt(SecretId, 'AWSCURRENT');
    const published = await readPublished();
    const set = preparedKeySet(await readSecret(SecretId, ClientRequestToken));
    requireNoneRevoked(set, published.revoked);
    await makeCurrent(SecretId, ClientRequestToken, version);
    await publish({ ...published, keys: publishedAfter(published, [set]) }, published);
    logEvent('signing_keys_rotated', { kid: set.current.kid });
  },
};

function preparedKeySet(secret = ''): KeySet {
  const set = parseKeySet(secret);
  if (!set) throw new Error('The rotation has prepared no key set.');
  return set;
}

function requireNoneRevoked({ current, next }: KeySet, revoked: string[]): void {
  if ([current, next].some(({ kid }) => revoked.includes(kid)))
    throw new Error('A key of the prepared key set has been revoked. Rotate again.');
}
