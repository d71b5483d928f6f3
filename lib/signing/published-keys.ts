import { importJWK } from 'jose';
import * as v from 'valibot';
import { epochSeconds } from '../foundation/clock.ts';
import { newId } from '../foundation/ids.ts';
import { cached } from '../storage/cache.ts';
import { type ItemOf, itemKind, readItem, updateItem } from '../storage/items.ts';
import { publicSigningKeysKey } from '../storage/keys.ts';
import { type PublicJwk, type PublishedKey, publishedKeySchema } from './key-set.ts';

/** The most keys that may be published: a load balancer reads no more of a key set. */
export const mostKeys = 10;

const publishedKeysItem = itemKind(
  v.object({
    keys: v.optional(v.array(publishedKeySchema), []),
    /** The ids of revoked keys. None of them is ever published again. */
    revoked: v.optional(v.array(v.string()), []),
    /** Changes with every write, so that two writers don't overwrite each other. */
    revision: v.exactOptional(v.string()),
  }),
  publicSigningKeysKey,
);
export type Published = ItemOf<typeof publishedKeysItem>;

/** The published keys, with those of them that have been imported; undefined until the first rotation. */
const findPublished = cached(
  async () => {
    const { keys } = await readPublished();
    return keys.length > 0 ? { keys, imported: new Map<string, ReturnType<typeof importKey>>() } : undefined;
  },
  { freshFor: 5 * 60_000, deniedFor: 10_000 },
);

const isValid = ({ keep_until = Infinity }: PublishedKey): boolean => keep_until > epochSeconds();

/** Every key that a valid access token can be signed with. */
export async function publicKeys(): Promise<PublicJwk[]> {
  // That there is none is about to change.
  const { keys } = (await findPublished([], () => true)) ?? (await readPublished());
  return keys.filter(isValid).map(({ key }) => key);
}

/** The public key of a key id, and the one algorithm it is for. An unknown one is looked up at once, but at most every 10 s. */
export async function publicKey(kid: string) {
  const withId = (keys: PublishedKey[]) => keys.find((one) => one.key.kid === kid && isValid(one));
  const published = await findPublished([], ({ keys }) => withId(keys) !== undefined);
  const found = published && withId(published.keys);
  if (!found) return undefined;
  const key = published.imported.get(kid) ?? importKey(found.key);
  published.imported.set(kid, key);
  return key;
}

export const readPublished = async (): Promise<Published> =>
  (await readItem(publishedKeysItem())) ?? publishedKeysItem.parse({});

/**
 * Makes the public keys known to all verifying functions, in place of those of a revision.
 * @throws Error when there are too many, since any that were left out could have signed a valid token; or when somebody else has
 *   published others meanwhile
 */
export async function publish({ keys, revoked }: Omit<Published, 'revision'>, { revision }: Published) {
  if (keys.length > mostKeys)
    throw new Error(
      `At most ${mostKeys} keys can be published. Rotate again when the oldest tokens have expired.`,
    );
  const { done } = await updateItem(publishedKeysItem(), {
    set: { keys, revoked, revision: newId('r') },
    when: { revision: { is: revision } },
  });
  if (!done) throw new Error('The signing keys were rotated or revoked at the same time. Try again.');
}

const importKey = async (jwk: PublicJwk) => ({ alg: jwk.alg, key: await importJWK(jwk) });
