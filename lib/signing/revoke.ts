import { epochSeconds, isoTime } from '../foundation/clock.ts';
import { environment } from '../foundation/environment.ts';
import { logEvent } from '../log/log.ts';
import { abandonPending, readPendingSecret, readSecret, versionsOf } from '../secrets/secret-store.ts';
import { type KeySet, keyThatSigns, parseKeySet, signingKeyKnownFrom } from './key-set.ts';
import { type Published, readPublished } from './published-keys.ts';
import type { RevocationAnswer } from './revocation.ts';
import { replaceRevokedKeys } from './rotate.ts';

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
  const following = await replaceRevokedKeys(id, set, published, revoked);
  await abandonRotationWith(id, revoked);
  const signing_kid = keyThatSigns(following).kid;
  logEvent('signing_key_revoked', { kid, signing_kid });
  const knownFrom = signingKeyKnownFrom(following, set);
  return { signing_kid, warning: knownFrom > epochSeconds() ? warningUntil(knownFrom) : undefined };
}

const warningUntil = (knownFrom: number): string =>
  `Verifiers that keep the key set reject new tokens until they fetch it again, some until ${isoTime(knownFrom)}: the key that signs now has not been published for long.`;

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
  const { pending } = await versionsOf(id);
  const set = pending && parseKeySet((await readPendingSecret(id, pending)) ?? '');
  if (set && [set.current, set.next].some(({ kid }) => revoked.includes(kid)))
    await abandonPending(id, pending);
}
