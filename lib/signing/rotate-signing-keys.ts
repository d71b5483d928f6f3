import { CompactSign, compactVerify, importJWK } from 'jose';
import { logEvent } from '../log/log.ts';
import { rotation } from '../secrets/rotation.ts';
import { readSecret } from '../secrets/secret-store.ts';
import { type KeySet, keySetAfter, newKeySet, parseKeySet } from './key-set.ts';
import { keysToPublish } from './keys-to-publish.ts';
import { publish, readPublished } from './public-keys.ts';
import { replaceRevokedKeys } from './replace-revoked-keys.ts';
import { wantedAlgorithm } from './wanted-algorithm.ts';

/** Carries out one step of a rotation of the signing keys. */
export const rotateSigningKeys = rotation<KeySet>({
  parse(text) {
    const set = parseKeySet(text);
    if (!set) throw new Error('The rotation has prepared no key set.');
    return set;
  },

  /**
   * Prepares the key set that follows the current one. Its public keys are published first, so that every token can be
   * verified before one is signed, and so that the notice that a new key needs begins with it. The key that signs until
   * the last step gets no end yet, since that step may come late.
   */
  async prepare(secretId) {
    const published = await readPublished();
    const set = parseKeySet(await readSecret(secretId));
    const algorithm = wantedAlgorithm();
    const following = await (set ? keySetAfter(set, algorithm, published.keys) : newKeySet(algorithm));
    requireNoneRevoked(following, published.revoked);
    const keys = keysToPublish(published, [following, ...(set ? [set] : [])]);
    await publish({ ...published, keys }, published);
    return following;
  },

  /** Signs with each prepared key and verifies with what was published. */
  async testSecret({ current, next }, { ClientRequestToken }) {
    const { keys } = await readPublished();
    const message = new TextEncoder().encode(ClientRequestToken);
    for (const jwk of [current, next]) {
      const { key } = keys.find(({ key: { kid } }) => kid === jwk.kid) ?? {};
      if (!key) throw new Error('A key that is to sign is not published.');
      const signature = new CompactSign(message).setProtectedHeader({ alg: jwk.alg });
      await compactVerify(await signature.sign(await importJWK(jwk)), await importJWK(key));
    }
  },

  check: async (set) => requireNoneRevoked(set, (await readPublished()).revoked),

  /**
   * Gives the keys that no longer sign an end: they are published for as long as their tokens are valid. A key that was
   * revoked after the check is replaced.
   */
  async finish(set, { SecretId }) {
    const { current } = await replaceRevokedKeys(SecretId, set, await readPublished());
    logEvent('signing_keys_rotated', { kid: current.kid });
  },
});

function requireNoneRevoked({ current, next }: KeySet, revoked: string[]): void {
  if ([current, next].some(({ kid }) => revoked.includes(kid)))
    throw new Error('A key of the prepared key set has been revoked. Rotate again.');
}
