import { putCurrentSecret } from '../secrets/secret-store.ts';
import { type KeySet, keySetWithout } from './key-set.ts';
import { keysToPublish } from './keys-to-publish.ts';
import { type Published, publish } from './public-keys.ts';
import { wantedAlgorithm } from './wanted-algorithm.ts';

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
