import { epochSeconds } from '../../lib/foundation/clock.ts';
import { keyThatSigns, parseKeySet } from '../../lib/signing/key-set.ts';
import type { TokenAlgorithm } from '../../lib/signing/settings.ts';
import { secretIds } from './load-functions.ts';
import type { LocalSecrets } from './local-secrets.ts';

/**
 * Lets signing keys that were kept sign with the algorithm that is set now. A rotation publishes a key of it, which then
 * signs at once: no other process has cached the keys, so nothing has to wait for a day.
 */
export async function signWith(
  algorithm: TokenAlgorithm,
  secrets: LocalSecrets,
  rotate: () => Promise<void>,
): Promise<void> {
  const SecretId = secretIds.signingKeys;
  const kept = () => parseKeySet(secrets.current(SecretId) ?? '');
  if (kept()?.next.alg !== algorithm) await rotate();
  const set = kept();
  if (!set || keyThatSigns(set).alg === algorithm) return;
  const SecretString = JSON.stringify({ ...set, takes_over_at: epochSeconds() });
  secrets.answer('PutSecretValue', { SecretId, SecretString });
}
