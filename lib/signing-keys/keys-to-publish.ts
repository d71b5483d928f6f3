import { epochSeconds } from '../clock.ts';
import { staleReadSeconds } from '../secrets/rotation-step.ts';
import { accessTokenLifetime } from './access-token-lifetime.ts';
import { type KeySet, type PublishedKey, publicPartOf, signingKeyFreshFor } from './key-set.ts';
import { mostKeys, type Published } from './public-keys.ts';

/** When the last token is signed with a key that is replaced at a time, in epoch seconds: a function may have read it late. */
const lastSignatureAfter = (replaced: number): number =>
  replaced + staleReadSeconds + signingKeyFreshFor / 1000;

/**
 * The keys to publish while functions sign with any of these key sets. Every other published key stays for as long as
 * its tokens may be valid, or, if it is revoked, for as long as a function may still sign with it: five minutes. All
 * functions reject it from the same second on, so that none rejects what another still issues.
 */
export function publishedAfter({ keys, revoked }: Published, sets: KeySet[]): PublishedKey[] {
  const now = epochSeconds();
  const signing = mergedById(sets.flatMap(keysOf)).filter(({ key }) => !revoked.includes(key.kid));
  const others = keys
    .filter(({ key }) => !signing.some((one) => one.key.kid === key.kid))
    .map(({ key, retired_at = Infinity, keep_until = Infinity }) => {
      const retired = Math.min(retired_at, lastSignatureAfter(now));
      const end = revoked.includes(key.kid) ? retired : lastSignatureAfter(now) + accessTokenLifetime();
      return { key, retired_at: retired, keep_until: Math.min(keep_until, end) };
    })
    .filter(({ keep_until }) => keep_until > now);
  const all = [...signing, ...others];
  // There is no room for a revoked key beside the one that takes its place.
  return all.length > mostKeys ? all.filter(({ key }) => !revoked.includes(key.kid)) : all;
}

/** The keys of a set. The current one retires when it is known that the next one takes over. */
function keysOf({ current, next, takes_over_at }: KeySet): PublishedKey[] {
  const retirement = takes_over_at !== undefined && { retired_at: lastSignatureAfter(takes_over_at) };
  return [{ key: publicPartOf(current), ...retirement }, { key: publicPartOf(next) }];
}

/** Each key once, with the latest of its retirements. */
const mergedById = (keys: PublishedKey[]): PublishedKey[] =>
  [...Map.groupBy(keys, ({ key }) => key.kid).values()].map((same) =>
    same.reduce((later, one) => (retirementOf(one) > retirementOf(later) ? one : later)),
  );

const retirementOf = ({ retired_at = Infinity }: PublishedKey): number => retired_at;
