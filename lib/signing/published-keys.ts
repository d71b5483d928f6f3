import { importJWK } from 'jose';
import * as v from 'valibot';
import { clock, epochSeconds, isYounger } from '../foundation/clock.ts';
import { newId } from '../foundation/ids.ts';
import { type ItemOf, itemKind, readItem, updateItem } from '../storage/items.ts';
import { publicSigningKeysKey } from '../storage/keys.ts';
import { type PublicJwk, type PublishedKey, publishedKeySchema } from './key-set.ts';

/** Milliseconds for which a warm function uses the keys it has read. */
const freshFor = 5 * 60_000;
/** Milliseconds between two reads that unknown key ids can cause. */
const coolDown = 10_000;

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

let remembered: { keys: PublishedKey[]; readAt: number } | undefined;
/** Imported keys by key id; cleared whenever the keys are read again. */
let imported = new Map<string, ReturnType<typeof importKey>>();

/** Every key that a valid access token can be signed with. */
export const publicKeys = async (): Promise<PublicJwk[]> =>
  (await keysReadWithin(freshFor)).map(({ key }) => key);

/** The public key of a key id, and the one algorithm it is for. An unknown one is looked up at once, but at most every 10 s. */
export async function publicKey(kid: string) {
  const withId = (keys: PublishedKey[]) => keys.find(({ key }) => key.kid === kid);
  const found = withId(await keysReadWithin(freshFor)) ?? withId(await keysReadWithin(coolDown));
  if (!found) return undefined;
  const key = imported.get(kid) ?? importKey(found.key);
  imported.set(kid, key);
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
    when: { revision: revision === undefined ? { exists: false } : { is: revision } },
  });
  if (!done) throw new Error('The signing keys were rotated or revoked at the same time. Try again.');
}

const importKey = async (jwk: PublicJwk) => ({ alg: jwk.alg, key: await importJWK(jwk) });

async function keysReadWithin(milliseconds: number): Promise<PublishedKey[]> {
  if (!remembered || !isYounger(remembered.readAt, milliseconds)) {
    const now = clock.now().getTime();
    const { keys } = await readPublished();
    // Until the first rotation there are none, which is about to change.
    if (keys.length === 0) return [];
    remembered = { keys, readAt: now };
    imported = new Map();
  }
  return remembered.keys.filter(({ keep_until = Infinity }) => keep_until > epochSeconds());
}
