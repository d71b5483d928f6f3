import {
  type CryptoKey,
  errors,
  type FlattenedJWSInput,
  flattenedVerify,
  type JWSHeaderParameters,
} from 'jose';
import * as v from 'valibot';
import { clock, isYounger } from '../../foundation/clock.ts';
import { logEvent, logFailure } from '../../log/log.ts';
import { itemKind, putItem, readItem } from '../../storage/items.ts';
import { issuerKeysKey } from '../../storage/keys.ts';
import { isJsonType } from '../calls/answer-body.ts';
import { callProvider, verificationDeadline } from '../calls/call-provider.ts';
import { check, ProviderFailure } from '../calls/provider-failure.ts';
import { hostOf, providerUrlSchema } from '../settings/fields.ts';
import { countUsable, findCandidates, type ImportedKeys, keySetSchema } from './key-set.ts';
import { type KeySource, keysAddressOf } from './known-issuers.ts';
import { mayKeySignFor } from './tenants.ts';

/** Milliseconds for which keys are used without asking the issuer again. */
const freshFor = 60 * 60_000;
/** Milliseconds for which the last keys stay in use while the issuer gives none. */
const usableFor = 24 * 60 * 60_000;
/** Milliseconds after which an issuer is asked again. */
const coolDown = 60_000;

const issuerKeysSchema = v.object({
  /**
   * JSON, since an item can't hold every number and level of a key set. Older items have it as
   * attributes.
   */
  key_set: v.union([v.pipe(v.string(), v.parseJson(), keySetSchema), keySetSchema]),
  /** Milliseconds since 1970. */
  fetched_at: v.number(),
});
type KnownKeys = v.InferOutput<typeof issuerKeysSchema>;

/** An issuer's keys in the table; undefined if they can't be read. */
export const issuerKeysItem = itemKind(
  v.fallback(v.optional(issuerKeysSchema), undefined),
  issuerKeysKey,
);

interface Knowledge {
  keys: KnownKeys;
  imported: ImportedKeys;
}

const remembered = new Map<string, Knowledge>();
/** The latest failure to get an issuer's keys, and its time in milliseconds since 1970. */
const failures = new Map<string, { failure: ProviderFailure; at: number }>();
/** Fetched keys that are not in the table yet. */
const unstored = new Map<string, { issuer: string; keys: KnownKeys }>();
/** Lookups in progress, shared by all who wait for them. */
const renewals = new Map<string, Promise<Knowledge>>();

/** Finds the key of a token, whose header was checked before. jose asks for it. */
type FindKey = (header: JWSHeaderParameters, token: FlattenedJWSInput) => Promise<CryptoKey>;

/**
 * Verifies a token with a key of its issuer. For a token that none of the known keys has signed, and
 * while it is down, the issuer is asked once a minute at most. Unlike `createRemoteJWKSet` of jose,
 * this keeps the last keys in an outage, and shares them with other functions.
 * @param verify verifies the token with the key that it is given, by jose
 * @throws ProviderFailure when the issuer gives no usable keys, and whatever `verify` throws, such as
 *   a JOSEError when none of the keys has signed the token
 */
export async function verifyByIssuer<Result>(
  source: KeySource,
  verify: (findKey: FindKey) => Promise<Result>,
): Promise<Result> {
  let tried: Knowledge | undefined;
  let problem: unknown;
  // An issuer may give a new key the id of an old one, or replace a malformed one.
  for (const age of [freshFor, coolDown]) {
    const findKey: FindKey = async (header, token) => {
      const knowledge = await prepareIssuerKeys(source, age);
      if (knowledge === tried) throw problem;
      tried = knowledge;
      return keyIn(knowledge, source, header, token);
    };
    try {
      return await verify(findKey);
    } catch (error) {
      if (!isAboutKey(error)) throw error;
      problem = error;
    }
  }
  throw recentFailure(nameOf(source)) ?? problem;
}

/** Whether an error may be another one with the keys that the issuer publishes now. */
const isAboutKey = (error: unknown): boolean =>
  error instanceof errors.JWSSignatureVerificationFailed ||
  error instanceof errors.JWKSNoMatchingKey ||
  error instanceof ProviderFailure;

/**
 * The key among the known ones that has signed a token. If it can only be one, the signature is
 * left to the caller to verify.
 * @throws JOSEError if there is none, ProviderFailure if it can't be used
 */
async function keyIn(
  { keys, imported }: Knowledge,
  source: KeySource,
  header: JWSHeaderParameters,
  token: FlattenedJWSInput,
): Promise<CryptoKey> {
  const published = keys.key_set.keys.filter((key) => mayKeySignFor(key.issuer, source));
  const candidates = await findCandidates(published, header, imported);
  if (candidates.areUnusable) throw unusableKey(source, header);
  const [only, ...others] = candidates.keys;
  if (!only) throw new errors.JWKSNoMatchingKey();
  if (others.length === 0) return only;
  for (const key of candidates.keys) if (await hasSigned(key, token)) return key;
  throw new errors.JWSSignatureVerificationFailed();
}

async function hasSigned(key: CryptoKey, token: FlattenedJWSInput): Promise<boolean> {
  try {
    await flattenedVerify(token, key);
    return true;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return false;
    throw error;
  }
}

function unusableKey({ issuer }: KeySource, { kid = 'without id' }: JWSHeaderParameters) {
  return new ProviderFailure('unexpected_answer', issuer, `unusable key ${kid}`);
}

/**
 * Keys younger than `age` (milliseconds), or older ones for a minute after the issuer gave none.
 * @throws ProviderFailure
 */
export async function prepareIssuerKeys(source: KeySource, age = freshFor): Promise<Knowledge> {
  const name = nameOf(source);
  const memory = remembered.get(name);
  if (memory && isYounger(memory.keys.fetched_at, recentFailure(name) ? usableFor : age))
    return memory;
  const renewal = renewals.get(name) ?? renew(source, age).finally(() => renewals.delete(name));
  renewals.set(name, renewal);
  return renewal;
}

/** Reads the keys that another function may have stored, or asks the issuer. */
async function renew(source: KeySource, age: number): Promise<Knowledge> {
  const name = nameOf(source);
  const stored = await readItem(issuerKeysItem(name));
  const isEnough = stored && isYounger(stored.fetched_at, age);
  const keys = isEnough ? stored : await askIssuer(source, stored ?? remembered.get(name)?.keys);
  const knowledge: Knowledge = { keys, imported: new Map() };
  remembered.set(name, knowledge);
  return knowledge;
}

/** Asks the issuer for its keys. While it gives none, the last ones stay in use. */
async function askIssuer(source: KeySource, last: KnownKeys | undefined): Promise<KnownKeys> {
  const { issuer } = source;
  const name = nameOf(source);
  const known = recentFailure(name);
  if (known) throw known;
  const now = clock.now().getTime();
  try {
    const keys = { key_set: (await fetchIssuerKeys(source)).document, fetched_at: now };
    unstored.set(name, { issuer, keys });
    logEvent('provider_keys_fetched', { issuer });
    return keys;
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    failures.set(name, { failure: error, at: now });
    if (!last || !isYounger(last.fetched_at, usableFor)) throw error;
    const age_seconds = Math.round((now - last.fetched_at) / 1000);
    logFailure('provider_keys_stale', error, { issuer, age_seconds });
    return last;
  }
}

/**
 * Stores fetched keys for other functions. Only the token function may: what anybody can call must
 * not plant a key.
 */
export async function storeFetchedKeys(): Promise<void> {
  const fetched = [...unstored];
  unstored.clear();
  for (const [name, { issuer, keys }] of fetched) {
    const item = { key_set: JSON.stringify(keys.key_set), fetched_at: keys.fetched_at };
    await putItem(issuerKeysItem(name), item).catch((error) =>
      logFailure('provider_keys_not_stored', error, { issuer }),
    );
  }
}

/**
 * The name of known keys. It has the address in the settings, which another Login App may not
 * trust.
 */
function nameOf({ issuer, jwks_uri, template = issuer }: KeySource): string {
  return jwks_uri ? `${template} ${jwks_uri}` : template;
}

/** The failure of an issuer that gave no keys less than a minute ago. */
function recentFailure(name: string): ProviderFailure | undefined {
  const latest = failures.get(name);
  return latest && isYounger(latest.at, coolDown) ? latest.failure : undefined;
}

/**
 * Fetches keys from the address in settings, or else only from the issuer's own host.
 * @throws ProviderFailure
 */
async function fetchIssuerKeys({ issuer, jwks_uri }: KeySource) {
  const signal = verificationDeadline();
  const known = keysAddressOf({ issuer, jwks_uri });
  const address = known ?? (await discoverKeys(issuer, signal));
  if (known === undefined && isElsewhere(issuer, address)) {
    const message = 'its keys are on another host, so the settings need jwks_uri';
    throw new ProviderFailure('unexpected_answer', issuer, message);
  }
  return fetchDocument(address, keySetSchema, signal);
}

export const isElsewhere = (issuer: string, address: string): boolean =>
  hostOf(issuer) !== hostOf(address);

/**
 * The address of keys in an issuer's discovery document.
 * @throws ProviderFailure
 * @see OpenID Connect Discovery 1.0, section 4
 */
export async function discoverKeys(issuer: string, signal: AbortSignal): Promise<string> {
  const discovery = v.object(
    {
      issuer: v.literal(issuer, 'it names another issuer; a slash at the end counts'),
      jwks_uri: v.pipe(
        v.custom<string>(
          (value) => v.is(providerUrlSchema, value),
          'it names no address of keys that may be called',
        ),
        v.transform((address) => new URL(address).href),
      ),
    },
    'it is no discovery document',
  );
  const discoveryUrl = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const { document } = await fetchDocument(discoveryUrl, discovery, signal);
  return document.jwks_uri;
}

async function fetchDocument<Schema extends v.GenericSchema>(
  url: string,
  schema: Schema,
  signal: AbortSignal,
) {
  const { status, body, type } = await callProvider({ url, signal });
  if (status !== 200) throw new ProviderFailure('unexpected_status', url, String(status));
  const result = v.safeParse(schema, body);
  if (!result.success)
    throw new ProviderFailure('unexpected_answer', url, result.issues[0].message);
  return { document: result.output, type };
}

/** Whether an issuer publishes its keys. */
export const checkKeys = (source: KeySource) =>
  check(`keys of ${source.issuer}`, async () => {
    const { document, type = 'no content type' } = await fetchIssuerKeys(source);
    const usable = countUsable(document);
    if (usable === 0)
      return { ok: false, detail: 'The issuer publishes no key that can verify signatures.' };
    const found = `The issuer publishes its keys: ${usable}.`;
    const note = ` They are accepted, though they come as ${type} instead of application/json.`;
    return { ok: true, detail: isJsonType(type) ? found : `${found}${note}` };
  });
