import { epochSeconds } from '../foundation/clock.ts';
import { staleReadSeconds } from '../secrets/rotation-step.ts';
import { accessTokenLifetime } from './access-token-lifetime.ts';
import { type KeySet, type PublishedKey, publicPartOf, signingKeyFreshFor } from './key-set.ts';
import { mostKeys, type Published } from './public-keys.ts';

/** Seconds for which a function may still sign with a key that was replaced: it may have read the key late. */
const signedForSeconds = staleReadSeconds + signingKeyFreshFor / 1000;

/**
 * The keys to publish while functions sign with any of these key sets. Every other published key stays for as long as
 * its tokens may be valid, or, if it is revoked, for as long as a function may still sign with it: five minutes. All
 * functions reject it from the same second on, so that none rejects what another still issues.
 */
export function keysToPublish({ keys, revoked }: Published, sets: KeySet[]): PublishedKey[] {
  const now = epochSeconds();
  const isRevoked = ({ key }: PublishedKey): boolean => revoked.includes(key.kid);
  const inSets = sets.flatMap(({ current, next }) => [current, next]).map((key) => [key.kid, key] as const);
  const signing = [...new Map(inSets).values()]
    .map((key): PublishedKey => ({ key: publicPartOf(key) }))
    .filter((one) => !isRevoked(one));
  const others = keys
    .filter(({ key }) => !signing.some((one) => one.key.kid === key.kid))
    .map((one) => {
      const end = now + signedForSeconds + (isRevoked(one) ? 0 : accessTokenLifetime());
      return { key: one.key, keep_until: Math.min(one.keep_until ?? Infinity, end) };
    })
    .filter(({ keep_until }) => keep_until > now);
  const all = [...signing, ...others];
  // There is no room for a revoked key beside the one that takes its place.
  return all.length > mostKeys ? all.filter((one) => !isRevoked(one)) : all;
}
