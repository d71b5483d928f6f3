import { importJWK } from 'jose';
import * as v from 'valibot';
import { clock, epochSeconds } from '../clock.ts';
import { putItem, readItem } from '../storage/items.ts';
import { publicSigningKeysKey } from '../storage/keys.ts';
import { type PublicJwk, type PublishedKey, publishedKey } from './key-set.ts';
import type { TokenAlgorithm } from './token-algorithm.ts';

/** Milliseconds for which a warm function uses the keys it has read. */
const freshFor = 5 * 60_000;
/** Milliseconds between two reads that unknown key ids can cause. */
const coolDown = 10_000;

/** The most keys that may be published: a load balancer reads no more of a key set. */
const mostKeys = 10;

type ImportedKey = { alg: TokenAlgorithm; key: Awaited<ReturnType<typeof importJWK>> };

let remembered: { keys: PublishedKey[]; readAt: number } | undefined;
/** By key id; cleared whenever the keys are read again. */
let imported = new Map<string, Promise<ImportedKey>>();

/** Every key that a valid access token can be signed with. */
export const publicKeys = (): Promise<PublicJwk[]> => keysReadWithin(freshFor);

/** The public key of a key id, and the one algorithm it is for. An unknown one is looked up in the table at once, but at most every 10 s. */
export async function publicKey(kid: string): Promise<ImportedKey | undefined> {
  const withId = (keys: PublicJwk[]) => keys.find((key) => key.kid === kid);
  const jwk = withId(await keysReadWithin(freshFor)) ?? withId(await keysReadWithin(coolDown));
  if (!jwk) return undefined;
  const key = imported.get(kid) ?? importKey(jwk);
  imported.set(kid, key);
  return key;
}

/** The published keys as the table has them now. */
export async function readPublishedKeys(): Promise<PublishedKey[]> {
  const item = await readItem(publicSigningKeysKey());
  return v.parse(v.array(publishedKey), item?.keys ?? []);
}

/**
 * Makes the public keys known to all verifying functions.
 * @throws Error when there are too many, and publishes none: any that were left out could have signed a valid token
 */
export async function publishKeys(keys: PublishedKey[]): Promise<void> {
  if (keys.length > mostKeys)
    throw new Error(
      `At most ${mostKeys} keys can be published. Rotate again when the oldest tokens have expired.`,
    );
  await putItem({ ...publicSigningKeysKey(), keys });
}

const importKey = async (jwk: PublicJwk): Promise<ImportedKey> => ({
  alg: jwk.alg,
  key: await importJWK(jwk),
});

async function keysReadWithin(milliseconds: number): Promise<PublicJwk[]> {
  const now = clock.now().getTime();
  if (!remembered || now - remembered.readAt >= milliseconds) {
    const keys = await readPublishedKeys();
    // Until the first rotation there are none, which is about to change.
    if (keys.length === 0) return [];
    remembered = { keys, readAt: now };
    imported = new Map();
  }
  return remembered.keys
    .filter(({ keep_until }) => keep_until === undefined || keep_until > epochSeconds())
    .map(({ key }) => key);
}
