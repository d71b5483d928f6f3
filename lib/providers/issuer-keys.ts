import { createLocalJWKSet, errors, type JWSHeaderParameters } from 'jose';
import * as v from 'valibot';
import { clock } from '../clock.ts';
import { logEvent, logFailure } from '../log.ts';
import { putItem, readItem } from '../storage/items.ts';
import { issuerKeysKey } from '../storage/keys.ts';
import { fetchIssuerKeys, issuerKeySet } from './fetch-issuer-keys.ts';
import { ProviderFailure } from './provider-failure.ts';

/** Milliseconds for which keys are used without asking the issuer again. */
const freshFor = 60 * 60_000;
/** Milliseconds for which the last keys serve on while the issuer gives none. */
const usableFor = 24 * 60 * 60_000;
/** Milliseconds between two times that an issuer is asked. */
const coolDown = 60_000;

const knownKeys = v.object({
  key_set: issuerKeySet,
  /** Milliseconds since 1970. */
  fetched_at: v.number(),
});
type KnownKeys = v.InferOutput<typeof knownKeys>;

/** The warm function's memory: what is known of an issuer, and when it was last asked, with or without success. */
const remembered = new Map<string, { keys: KnownKeys | undefined; askedAt: number }>();

/**
 * The issuer's key that a token names. One that is not known is asked for, at most once a minute.
 * @throws ProviderFailure when there are no usable keys
 * @throws JOSEError when the issuer has no such key
 */
export async function issuerKey(issuer: string, header: JWSHeaderParameters, signal: AbortSignal) {
  const findIn = async ({ key_set }: KnownKeys) => createLocalJWKSet(key_set)(header);
  const known = await keysNotOlderThan(freshFor, issuer, signal);
  try {
    return await findIn(known);
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
    return findIn(await keysNotOlderThan(coolDown, issuer, signal));
  }
}

/** From memory, from the table (where another function may have put them), or from the issuer. */
async function keysNotOlderThan(
  milliseconds: number,
  issuer: string,
  signal: AbortSignal,
): Promise<KnownKeys> {
  const now = clock.now().getTime();
  const isYoung = (keys: KnownKeys | undefined, age: number): keys is KnownKeys =>
    keys !== undefined && now - keys.fetched_at < age;

  const memory = remembered.get(issuer);
  if (isYoung(memory?.keys, milliseconds)) return memory.keys;
  if (memory && now - memory.askedAt < coolDown && isYoung(memory.keys, usableFor)) return memory.keys;

  const stored = (await readStoredKeys(issuer)) ?? memory?.keys;
  if (isYoung(stored, milliseconds)) {
    remembered.set(issuer, { keys: stored, askedAt: stored.fetched_at });
    return stored;
  }
  const keys = await askIssuer(issuer, signal, isYoung(stored, usableFor) ? stored : undefined);
  remembered.set(issuer, { keys, askedAt: now });
  return keys;
}

/** Asks the issuer and stores what it says; when it gives no keys, the last ones go on. */
async function askIssuer(
  issuer: string,
  signal: AbortSignal,
  last: KnownKeys | undefined,
): Promise<KnownKeys> {
  const now = clock.now().getTime();
  try {
    const keys = { key_set: await fetchIssuerKeys(issuer, signal), fetched_at: now };
    await putItem({ ...issuerKeysKey(issuer), ...keys });
    logEvent('provider_keys_fetched', { issuer });
    return keys;
  } catch (error) {
    if (!last || !(error instanceof ProviderFailure)) throw error;
    logFailure('provider_keys_stale', error, {
      issuer,
      age_seconds: Math.round((now - last.fetched_at) / 1000),
    });
    return last;
  }
}

async function readStoredKeys(issuer: string): Promise<KnownKeys | undefined> {
  const result = v.safeParse(knownKeys, await readItem(issuerKeysKey(issuer)));
  return result.success ? result.output : undefined;
}
