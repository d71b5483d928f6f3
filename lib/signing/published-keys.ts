import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { newId } from '../foundation/ids.ts';
import { cached } from '../storage/cache.ts';
import { type ItemOf, itemKind, readItem, updateItem } from '../storage/items.ts';
import { publicSigningKeysKey } from '../storage/keys.ts';
import { type PublicJwk, type PublishedKey, publishedKeySchema } from './key-set.ts';

/** The most published keys, since load balancers read no more. */
export const mostKeys = 10;

const publishedKeysItem = itemKind(
  v.object({
    keys: v.optional(v.array(publishedKeySchema), []),
    /** The ids of keys that are never published again. */
    revoked: v.optional(v.array(v.string()), []),
    /** Changes with every write. */
    revision: v.exactOptional(v.string()),
  }),
  publicSigningKeysKey,
);
export type Published = ItemOf<typeof publishedKeysItem>;

/** The published keys; undefined until the first rotation. */
const published = cached(
  () => true,
  async () => {
    const { keys } = await readPublished();
    return keys.length > 0 ? keys : undefined;
  },
  { freshFor: 5 * 60_000, deniedFor: 10_000 },
);

const isValid = ({ keep_until = Infinity }: PublishedKey): boolean => keep_until > epochSeconds();

/** Every key that a valid access token can be signed with. */
export async function publicKeys(): Promise<PublicJwk[]> {
  // No key is cached before the first rotation, which may have ended a moment ago.
  const keys = (await published.find()) ?? (await readPublished()).keys;
  return keys.filter(isValid).map(({ key }) => key);
}

/**
 * The public key of an id. An unknown id is looked up at once, at most every 10 s. While the keys
 * are cached, it is the same object, which jose imports only once.
 */
export async function publicKey(kid: string): Promise<PublicJwk | undefined> {
  const withId = (keys: PublishedKey[]) => keys.find((one) => one.key.kid === kid && isValid(one));
  const keys = await published.findGranting([], (found) => withId(found) !== undefined);
  return keys && withId(keys)?.key;
}

export const readPublished = async () =>
  (await readItem(publishedKeysItem())) ?? publishedKeysItem.parse({});

/**
 * Publishes keys in place of a revision's.
 * @throws Error if there are too many, or somebody was faster
 */
export async function publish(
  { keys, revoked }: Omit<Published, 'revision'>,
  { revision }: Published,
) {
  if (keys.length > mostKeys)
    throw new Error(
      `At most ${mostKeys} keys can be published. Rotate again when the oldest tokens have expired.`,
    );
  const { done } = await updateItem(publishedKeysItem(), {
    set: { keys, revoked, revision: newId('r') },
    when: { revision: { is: revision } },
  });
  if (!done)
    throw new Error('The signing keys were rotated or revoked at the same time. Try again.');
}
