import { parseKeySet } from '../../lib/signing-keys/key-set.ts';
import type { TokenAlgorithm } from '../../lib/signing-keys/token-algorithm.ts';
import { secretIds } from './load-functions.ts';
import type { LocalSecrets } from './local-secrets.ts';

/**
 * Rotates signing keys that were kept until they are of the algorithm that is set now. The first rotation publishes a key
 * of it, the second lets that key sign. No other process has cached the keys, so nothing has to wait for a day.
 */
export async function rotateUntilOf(
  algorithm: TokenAlgorithm,
  secrets: LocalSecrets,
  rotate: () => Promise<void>,
): Promise<void> {
  const areOf = () => {
    const set = parseKeySet(secrets.current(secretIds.signingKeys) ?? '');
    return set?.current.alg === algorithm && set.next.alg === algorithm;
  };
  while (!areOf()) await rotate();
}
