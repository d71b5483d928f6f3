import { CompactSign, compactVerify, importJWK } from 'jose';
import { logEvent } from '../log/log.ts';
import { rotation } from '../secrets/rotation.ts';
import { putCurrentSecret, readSecret } from '../secrets/secret-store.ts';
import { type KeySet, keySetAfter, keySetWithout, newKeySet, parseKeySet } from './key-set.ts';
import { keysToPublish, type Published, publish, readPublished } from './published-keys.ts';
import { wantedAlgorithm } from './settings.ts';

/** Carries out one step of a rotation of the signing keys. */
export const rotateSigningKeys = rotation<KeySet>({
  parse(text) {
    const set = parseKeySet(text);
    if (!set) throw new Error('The rotation has prepared no key set.');
    return set;
  },

  /**
   * The key set that follows the current one. Its public keys are published first, so that every token can be
   * verified before one is signed, and so that the notice that a new key needs begins with it. The key that signs until
   * the last step gets no end yet, since that step may come late.
   */
  async next(secretId) {
    const published = await readPublished();
    const set = parseKeySet(await readSecret(secretId));
    const algorithm = wantedAlgorithm();
    const following = await (set ? keySetAfter(set, algorithm, published.keys) : newKeySet(algorithm));
    requireNoneRevoked(following, published.revoked);
    const keys = keysToPublish(published, [following, ...(set ? [set] : [])]);
    await publish({ ...published, keys }, published);
    return following;
  },

  /** Signs with each prepared key and verifies with what was published; none is revoked. */
  async ready(set, { ClientRequestToken }) {
    const { keys, revoked } = await readPublished();
    requireNoneRevoked(set, revoked);
    const message = new TextEncoder().encode(ClientRequestToken);
    for (const jwk of [set.current, set.next]) {
      const { key } = keys.find(({ key: { kid } }) => kid === jwk.kid) ?? {};
      if (!key) throw new Error('A key that is to sign is not published.');
      const signature = new CompactSign(message).setProtectedHeader({ alg: jwk.alg });
      await compactVerify(await signature.sign(await importJWK(jwk)), await importJWK(key));
    }
  },

  /**
   * Gives the keys that no longer sign an end: they are published for as long as their tokens are valid. A key that was
   * revoked after the check is replaced.
   */
  async finish(set, secretId) {
    const { current } = await replaceRevokedKeys(secretId, set, await readPublished());
    logEvent('signing_keys_rotated', { kid: current.kid });
  },
});

function requireNoneRevoked({ current, next }: KeySet, revoked: string[]): void {
  if ([current, next].some(({ kid }) => revoked.includes(kid)))
    throw new Error('A key of the prepared key set has been revoked. Rotate again.');
}

/**
 * Publishes the keys of the current key set, once those that are revoked have been replaced. A replacement is published
 * before it signs.
 * @param before what is published, as the table has it now
 * @param revoked the ids of all revoked keys, of which some may be new
 * @returns the key set that is current from now on
 */
export async function replaceRevokedKeys(
  secretId: string,
  set: KeySet,
  before: Published,
  revoked = before.revoked,
): Promise<KeySet> {
  const replacement = await keySetWithout(set, revoked, wantedAlgorithm());
  const following = replacement ?? set;
  await publish({ keys: keysToPublish({ keys: before.keys, revoked }, [following]), revoked }, before);
  if (replacement) await putCurrentSecret(secretId, JSON.stringify(replacement));
  return following;
}
