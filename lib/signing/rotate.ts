import { CompactSign, compactVerify } from 'jose';
import * as v from 'valibot';
import { epochSeconds, isoTime } from '../foundation/clock.ts';
import { environment } from '../foundation/environment.ts';
import { logEvent } from '../log/log.ts';
import * as secretStore from '../secrets/secret-store.ts';
import {
  type KeySet,
  keySetAfter,
  keySetWithout,
  keyThatSigns,
  newKeySet,
  type PublishedKey,
  parseKeySet,
  publicPartOf,
  signingKeyFreshFor,
  signingKeyKnownFrom,
} from './key-set.ts';
import { mostKeys, type Published, publish, readPublished } from './published-keys.ts';
import { accessTokenLifetime, type TokenAlgorithm, tokenAlgorithms } from './settings.ts';

export const rotateSigningKeys = secretStore.rotation<KeySet>({
  parse(text) {
    const set = parseKeySet(text);
    if (!set) throw new Error('The rotation has prepared no key set.');
    return set;
  },

  /**
   * Publishes the keys of the next key set: their notice begins. The key that signs until the last
   * step gets no end yet.
   */
  async next(secretId) {
    const published = await readPublished();
    const set = parseKeySet(await secretStore.readSecret(secretId));
    const algorithm = wantedAlgorithm();
    const following = set
      ? await keySetAfter(set, algorithm, published.keys)
      : await newKeySet(algorithm);
    requireNoneRevoked(following, published.revoked);
    const keys = keysToPublish(published, set ? [following, set] : [following]);
    await publish({ ...published, keys }, published);
    return following;
  },

  /** Signs with each prepared key, and verifies with the published one. */
  async ready(set, { ClientRequestToken }) {
    const { keys, revoked } = await readPublished();
    requireNoneRevoked(set, revoked);
    const message = new TextEncoder().encode(ClientRequestToken);
    for (const jwk of [set.current, set.next]) {
      const published = keys.find(({ key }) => key.kid === jwk.kid);
      if (!published) throw new Error('A key that is to sign is not published.');
      const signer = new CompactSign(message).setProtectedHeader({ alg: jwk.alg });
      const signed = await signer.sign(jwk);
      await compactVerify(signed, published.key);
    }
  },

  /** Gives an end to keys that no longer sign. Replaces a key that was revoked after the check. */
  async finish(set, secretId) {
    const { current } = await replaceRevokedKeys(secretId, set, await readPublished());
    logEvent('signing_keys_rotated', { kid: current.kid });
  },
});

const hasRevokedKey = ({ current, next }: KeySet, revoked: string[]): boolean =>
  [current, next].some(({ kid }) => revoked.includes(kid));

function requireNoneRevoked(set: KeySet, revoked: string[]): void {
  if (hasRevokedKey(set, revoked))
    throw new Error('A key of the prepared key set has been revoked. Rotate again.');
}

/**
 * Replaces revoked keys, and publishes the key set before it signs.
 * @param revoked their ids
 * @returns the current key set
 */
async function replaceRevokedKeys(
  secretId: string,
  set: KeySet,
  before: Published,
  revoked = before.revoked,
): Promise<KeySet> {
  const replacement = await keySetWithout(set, revoked, wantedAlgorithm());
  const following = replacement ?? set;
  const keys = keysToPublish({ keys: before.keys, revoked }, [following]);
  await publish({ keys, revoked }, before);
  if (replacement) await secretStore.putCurrentSecret(secretId, JSON.stringify(replacement));
  return following;
}

/** Seconds that a function may still sign with a replaced key. */
const signedForSeconds = secretStore.staleReadSeconds + signingKeyFreshFor / 1000;

/**
 * The keys to publish while functions sign with any of these key sets. Other published keys stay
 * while their tokens are valid, or, if revoked, while a function may still sign with them: no
 * function rejects what another issues.
 */
function keysToPublish({ keys, revoked }: Published, sets: KeySet[]): PublishedKey[] {
  const now = epochSeconds();
  const isRevoked = ({ key }: PublishedKey): boolean => revoked.includes(key.kid);

  // Two sets may have a key in common.
  const inSets = new Map<string, PublishedKey>();
  for (const key of sets.flatMap(({ current, next }) => [current, next])) {
    inSets.set(key.kid, { key: publicPartOf(key) });
  }
  const signing = [...inSets.values()].filter((one) => !isRevoked(one));

  const replaced: PublishedKey[] = [];
  for (const one of keys) {
    if (signing.some(({ key }) => key.kid === one.key.kid)) continue;
    const lastSigned = now + signedForSeconds;
    const end = isRevoked(one) ? lastSigned : lastSigned + accessTokenLifetime();
    const keep_until = Math.min(one.keep_until ?? Infinity, end);
    if (keep_until > now) replaced.push({ key: one.key, keep_until });
  }

  const all = [...signing, ...replaced];
  if (all.length <= mostKeys) return all;
  // There may be no room for a revoked key next to the key that replaces it.
  return all.filter((one) => !isRevoked(one));
}

const algorithmSetting = environment('TOKEN_ALGORITHM');

/**
 * The algorithm of new signing keys.
 * @throws ValiError for another one
 */
export function wantedAlgorithm(): TokenAlgorithm {
  const message = `The environment variable TOKEN_ALGORITHM must be ${tokenAlgorithms.join(' or ')}.`;
  return v.parse(v.picklist(tokenAlgorithms, message), algorithmSetting());
}

const secretId = environment('SIGNING_KEYS_SECRET_ID');

/**
 * Revokes a signing key: after five minutes no function signs with it or accepts its tokens.
 * Another key takes its place at once. May be repeated after an interruption. The table is written
 * first, so that no rotation brings the key back.
 * @returns the key that signs now with a warning, or why nothing was revoked
 */
export async function revokeSigningKey(kid: string) {
  const id = secretId();
  const published = await readPublished();
  const set = parseKeySet(await secretStore.readSecret(id));
  if (!set) return { error: 'There are no signing keys yet.' };
  if (!isKnown(kid, published, set)) return { error: 'There is no such signing key.' };
  if (isOutdated(set, published))
    return { error: 'The keys were rotated a moment ago. Try again in a minute.' };

  const revoked = [...new Set([...published.revoked, kid])];
  const following = await replaceRevokedKeys(id, set, published, revoked);
  await abandonRotationWith(id, revoked);
  const signing_kid = keyThatSigns(following).kid;
  logEvent('signing_key_revoked', { kid, signing_kid });
  const knownFrom = signingKeyKnownFrom(following, set);
  const warning = `Verifiers that keep the key set reject new tokens until they fetch it again, some until ${isoTime(knownFrom)}: the key that signs now has not been published for long.`;
  return { signing_kid, warning: knownFrom > epochSeconds() ? warning : undefined };
}

function isKnown(kid: string, { keys, revoked }: Published, { current, next }: KeySet): boolean {
  const published = keys.map(({ key }) => key.kid);
  return [...published, ...revoked, current.kid, next.kid].includes(kid);
}

/**
 * Whether a key set was read as it was before the last rotation: the published keys say that a key
 * of it is out of use, and not because it was revoked.
 */
function isOutdated({ current, next }: KeySet, { keys, revoked }: Published): boolean {
  const outOfUse = keys.filter(({ keep_until }) => keep_until !== undefined);
  const replaced = outOfUse.filter(({ key }) => !revoked.includes(key.kid));
  return replaced.some(({ key }) => key.kid === current.kid || key.kid === next.kid);
}

/** Gives up a rotation to a key set with a revoked key, which could never end. */
async function abandonRotationWith(id: string, revoked: string[]): Promise<void> {
  const { pending } = await secretStore.describeSecret(id);
  if (pending === undefined) return;
  const text = await secretStore.readPendingSecret(id, pending);
  const set = text === undefined ? undefined : parseKeySet(text);
  if (set && hasRevokedKey(set, revoked)) await secretStore.abandonPending(id, pending);
}
