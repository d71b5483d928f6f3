import { createLocalJWKSet, errors, type JWSHeaderParameters } from 'jose';
import * as v from 'valibot';
import { clock } from '../../clock.ts';
import { logEvent, logFailure } from '../../log/log.ts';
import { putItem, readItem } from '../../storage/items.ts';
import { issuerKeysKey } from '../../storage/keys.ts';
import { verificationDeadline } from '../call-provider.ts';
import { ProviderFailure } from '../provider-failure.ts';
import { fetchIssuerKeys, issuerKeySetSchema } from './fetch-issuer-keys.ts';

/** Milliseconds for which keys are used without asking the issuer again. */
const freshFor = 60 * 60_000;
/** Milliseconds for which the last keys stay in use while the issuer gives none. */
const usableFor = 24 * 60 * 60_000;
/** Milliseconds between two times that an issuer is asked. */
const coolDown = 60_000;

const issuerKeysItem = v.object({
  key_set: issuerKeySetSchema,
  /** Milliseconds since 1970. */
  fetched_at: v.number(),
});
type KnownKeys = v.InferOutput<typeof issuerKeysItem>;

/** Keys of an issuer that a warm function knows. */
interface Knowledge {
  keys: KnownKeys;
  /** Finds the key that a token's header names; each key is imported once. */
  find: ReturnType<typeof createLocalJWKSet>;
  /** Milliseconds since 1970: when the issuer was last asked, with or without success. */
  askedAt: number;
  /** The failure of the latest attempt to get the keys. */
  failure?: ProviderFailure;
}

const remembered = new Map<string, Knowledge>();
/** The lookups in progress, shared by all who wait for them. */
const renewals = new Map<string, Promise<Knowledge>>();

/**
 * The issuer's key that a token names. The issuer is asked for an unknown key at most once a minute.
 *
 * `createRemoteJWKSet` of jose cannot do this: it drops the last keys in an outage, asks a broken issuer
 * again at each login, and shares its cache with no other function.
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

/** Has an issuer's keys at hand before a token needs them. @throws ProviderFailure when there are no usable keys */
export async function prepareIssuerKeys(issuer: string): Promise<void> {
  await knowledgeOf(issuer, freshFor);
}

async function findKey({ find }: Knowledge, header: JWSHeaderParameters) {
  try {
    return await find(header);
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey) return undefined;
    throw error;
  }
}

/** Keys younger than this age (milliseconds); older ones while the issuer, asked less than a minute ago, gave none. */
async function knowledgeOf(issuer: string, age: number): Promise<Knowledge> {
  const memory = remembered.get(issuer);
  if (memory && isYounger(memory.keys, age)) return memory;
  const isAskedAgain = memory && clock.now().getTime() - memory.askedAt < coolDown;
  if (isAskedAgain && isYounger(memory.keys, usableFor)) return memory;

  const renewal = renewals.get(issuer) ?? renew(issuer, age).finally(() => renewals.delete(issuer));
  renewals.set(issuer, renewal);
  return renewal;
}

/** Takes the keys that another function may have put into the table, or asks the issuer. */
async function renew(issuer: string, age: number): Promise<Knowledge> {
  const stored = await readStoredKeys(issuer);
  const known =
    stored && isYounger(stored, age)
      ? { keys: stored, askedAt: stored.fetched_at }
      : await askIssuer(issuer, stored ?? remembered.get(issuer)?.keys);
  const knowledge = { ...known, find: createLocalJWKSet(known.keys.key_set) };
  remembered.set(issuer, knowledge);
  return knowledge;
}

/** Asks the issuer and stores its keys. When it gives none, the last ones stay in use. */
async function askIssuer(issuer: string, last: KnownKeys | undefined): Promise<Omit<Knowledge, 'find'>> {
  const now = clock.now().getTime();
  try {
    const key_set = await fetchIssuerKeys(issuer, verificationDeadline());
    const keys = { key_set, fetched_at: now };
    await putItem<KnownKeys>({ ...issuerKeysKey(issuer), ...keys });
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
  const result = v.safeParse(issuerKeysItem, await readItem(issuerKeysKey(issuer)));
  return result.success ? result.output : undefined;
}
