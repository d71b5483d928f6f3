import { environment } from '../environment.ts';
import { logEvent } from '../log/log.ts';
import {
  abandonPending,
  putCurrentSecret,
  readPendingSecret,
  readSecret,
  versionAt,
} from '../secrets/secret-store.ts';
import { type KeySet, keySetWithout, keyThatSigns, parseKeySet } from './key-set.ts';
import { publishedAfter } from './keys-to-publish.ts';
import { type Published, publish, readPublished } from './public-keys.ts';
import type { RevocationAnswer } from './signing-key-revocation.ts';
import { wantedAlgorithm } from './wanted-algorithm.ts';

const secretId = environment('SIGNING_KEYS_SECRET_ID');

/**
 * Revokes a signing key: within five minutes no function signs with it, and none accepts its tokens. If it is a key that
 * signs or will, another one takes its place at once. It may be done again, for example after it was interrupted.
 *
 * The table comes first: from then on no rotation can bring the key back, and the key that takes its place is known
 * before it signs.
 */
export async function revokeSigningKey(kid: string): Promise<RevocationAnswer> {
  const id = secretId();
  const published = await readPublished();
  const set = parseKeySet(await readSecret(id));
  if (!set) return { error: 'There are no signing keys yet.' };
  if (!isKnown(kid, published, set)) return { error: 'There is no such signing key.' };
  if (isOutdated(set, published))
    return { error: 'The keys were rotated a moment ago. Try again in a minute.' };

  const revoked = [...new Set([...published.revoked, kid])];
  const replacement = await keySetWithout(set, revoked, wantedAlgorithm());
  const following = replacement ?? set;
  const keys = publishedAfter({ keys: published.keys, revoked }, [following]);
  await publish({ keys, revoked }, published);
  if (replacement) await putCurrentSecret(id, JSON.stringify(replacement));
  await abandonRotationWith(id, revoked);
  const signing_kid = keyThatSigns(following).kid;
  logEvent('signing_key_revoked', { kid, signing_kid });
  return { signing_kid };
}

const isKnown = (kid: string, { keys, revoked }: Published, { current, next }: KeySet): boolean =>
  [...keys.map(({ key }) => key.kid), ...revoked, current.kid, next.kid].includes(kid);

/** Whether a key of the set was taken out of use: then it is the set before the last rotation. */
const isOutdated = ({ current, next }: KeySet, { keys, revoked }: Published): boolean =>
  [current, next].some(
    ({ kid }) =>
      !revoked.includes(kid) &&
      keys.some(({ key, keep_until }) => key.kid === kid && keep_until !== undefined),
  );

/** Gives up a rotation that has prepared a key set with a revoked key, which could never be finished. */
async function abandonRotationWith(id: string, revoked: string[]): Promise<void> {
  const version = await versionAt(id, 'AWSPENDING');
  const pending = version && parseKeySet((await readPendingSecret(id, version)) ?? '');
  if (!pending) return;
  const { current, next } = pending;
  if ([current, next].some(({ kid }) => revoked.includes(kid))) await abandonPending(id, version);
}
