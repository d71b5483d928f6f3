import { createLocalJWKSet, errors, type JWSHeaderParameters } from 'jose';
import * as v from 'valibot';
import { clock } from '../clock.ts';
import { logEvent, logFailure } from '../log.ts';
import { putItem, readItem } from '../storage/items.ts';
import { issuerKeysKey } from '../storage/keys.ts';
import { verificationDeadline } from './call-provider.ts';
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

/** What a warm function knows of an issuer. */
interface Knowledge {
  keys: KnownKeys;
  /** Milliseconds since 1970: when the issuer was last asked, with or without success. */
  askedAt: number;
  /** What the issuer did instead of giving keys, when it was last asked. */
  failure?: ProviderFailure;
}

const remembered = new Map<string, Knowledge>();
/** What is being found out at this moment, for all who wait for it. */
const renewals = new Map<string, Promise<Knowledge>>();

/**
 * The issuer's key that a token names. One that is not known is asked for, at most once a minute.
 * @throws ProviderFailure when there are no usable keys, or the issuer could not be asked for this one
 * @throws JOSEError when the issuer has no such key
 */
export async function issuerKey(issuer: string, header: JWSHeaderParameters) {
  const key = await findKey(await knowledgeOf(issuer, freshFor), header);
  if (key) return key;
  const newest = await knowledgeOf(issuer, coolDown);
  const newKey = await findKey(newest, header);
  if (newKey) return newKey;
  throw newest.failure ?? new errors.JWKSNoMatchingKey();
}

async function findKey({ keys }: Knowledge, header: JWSHeaderParameters) {
  try {
    return await createLocalJWKSet(keys.key_set)(header);
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return undefined;
    throw error;
  }
}

/** With keys younger than so many milliseconds, unless the issuer has been asked in vain a moment ago. */
async function knowledgeOf(issuer: string, age: number): Promise<Knowledge> {
  const memory = remembered.get(issuer);
  if (memory && isYounger(memory.keys, age)) return memory;
  const isAskedAgain = memory && clock.now().getTime() - memory.askedAt < coolDown;
  if (isAskedAgain && isYounger(memory.keys, usableFor)) return memory;

  const renewal = renewals.get(issuer) ?? renew(issuer, age).finally(() => renewals.delete(issuer));
  renewals.set(issuer, renewal);
  return renewal;
}

/** Looks into the table, where another function may have put the keys, and else asks the issuer. */
async function renew(issuer: string, age: number): Promise<Knowledge> {
  const stored = await readStoredKeys(issuer);
  const knowledge =
    stored && isYounger(stored, age)
      ? { keys: stored, askedAt: stored.fetched_at }
      : await askIssuer(issuer, stored ?? remembered.get(issuer)?.keys);
  remembered.set(issuer, knowledge);
  return knowledge;
}

/** Asks the issuer and stores what it says; when it gives no keys, the last ones go on. */
async function askIssuer(issuer: string, last: KnownKeys | undefined): Promise<Knowledge> {
  const now = clock.now().getTime();
  try {
    const key_set = await fetchIssuerKeys(issuer, verificationDeadline());
    const keys = { key_set, fetched_at: now };
    await putItem({ ...issuerKeysKey(issuer), ...keys });
    logEvent('provider_keys_fetched', { issuer });
    return { keys, askedAt: now };
  } catch (error) {
    if (!last || !isYounger(last, usableFor) || !(error instanceof ProviderFailure)) throw error;
    const age_seconds = Math.round((now - last.fetched_at) / 1000);
    logFailure('provider_keys_stale', error, { issuer, age_seconds });
    return { keys: last, askedAt: now, failure: error };
  }
}

const isYounger = ({ fetched_at }: KnownKeys, milliseconds: number): boolean =>
  clock.now().getTime() - fetched_at < milliseconds;

async function readStoredKeys(issuer: string): Promise<KnownKeys | undefined> {
  const result = v.safeParse(knownKeys, await readItem(issuerKeysKey(issuer)));
  return result.success ? result.output : undefined;
}
