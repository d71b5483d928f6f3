import { CompactSign, compactVerify, importJWK } from 'jose';
import * as v from 'valibot';
import { epochSeconds } from '../clock.ts';
import { logEvent } from '../log.ts';
import { makeCurrent, putPendingSecret, readPendingSecret, readSecret } from '../storage/secrets.ts';
import { accessTokenLifetime } from './access-token-lifetime.ts';
import {
  type KeySet,
  keySet,
  newKeySet,
  newSigningKey,
  type PublicJwk,
  type PublishedKey,
  publicJwk,
  signingKeyFreshFor,
  signingKeysOf,
} from './key-set.ts';
import { publishKeys, readPublishedKeys } from './public-keys.ts';

/** What Secrets Manager calls a rotation function with, four times per rotation. @see AWS Secrets Manager user guide, "Lambda rotation functions" */
export const rotationStep = v.object({
  SecretId: v.string(),
  /** The id of the version that this rotation makes. */
  ClientRequestToken: v.string(),
  Step: v.picklist(['createSecret', 'setSecret', 'testSecret', 'finishSecret']),
});
type RotationStep = v.InferOutput<typeof rotationStep>;

/** Carries out one step of a rotation. A step that comes again changes nothing. */
export const rotateSigningKeys = (step: RotationStep): Promise<void> => steps[step.Step](step);

const steps: Record<RotationStep['Step'], (step: RotationStep) => Promise<void>> = {
  /** Prepares the key set that follows the current one. */
  async createSecret({ SecretId, ClientRequestToken }) {
    if (await readPendingSecret(SecretId, ClientRequestToken)) return;
    const following = await keySetAfter(parseKeySet(await readSecret(SecretId)));
    await putPendingSecret(SecretId, ClientRequestToken, JSON.stringify(following));
  },

  /**
   * Publishes the public keys of the prepared key set, so that every token can be verified before one is signed. The
   * key that signs until the last step gets no end yet, since that step may come late.
   */
  async setSecret(step) {
    const { previous, ...pending } = await pendingKeySet(step);
    const signing = [...signingKeysOf(pending), ...(previous ? [previous] : [])];
    await publishKeys([...signing.map((key) => ({ key })), ...(await publishedBesides(signing))]);
  },

  /** Signs with the prepared key and verifies with what was published. */
  async testSecret(step) {
    const { current } = await pendingKeySet(step);
    const published = (await readPublishedKeys()).find(({ key }) => key.kid === current.kid);
    if (!published) throw new Error('The key that is to sign is not published.');
    const message = new TextEncoder().encode(step.ClientRequestToken);
    const signed = await new CompactSign(message)
      .setProtectedHeader({ alg: 'ES256' })
      .sign(await importJWK(current));
    await compactVerify(signed, await importJWK(published.key));
  },

  /**
   * Makes the prepared key set the current one. From now on the keys that no longer sign are published for as long as
   * their tokens are valid. The key set is read by its version: the current one may still be the one before.
   */
  async finishSecret({ SecretId, ClientRequestToken }) {
    await makeCurrent(SecretId, ClientRequestToken);
    const current = parseKeySet(await readSecret(SecretId, ClientRequestToken));
    if (!current) throw new Error('The secret holds no key set.');
    const signing = signingKeysOf(current);
    const end = epochSeconds() + signingKeyFreshFor / 1000 + accessTokenLifetime();
    const retired = (await publishedBesides(signing)).map(({ key, keep_until = end }) => ({
      key,
      keep_until,
    }));
    await publishKeys([...signing.map((key) => ({ key })), ...retired]);
    logEvent('signing_keys_rotated', { kid: current.current.kid });
  },
};

/** The other published keys that are still needed. */
async function publishedBesides(keys: PublicJwk[]): Promise<PublishedKey[]> {
  const kids = keys.map(({ kid }) => kid);
  const isNeeded = ({ key, keep_until = Infinity }: PublishedKey) =>
    !kids.includes(key.kid) && keep_until > epochSeconds();
  return (await readPublishedKeys()).filter(isNeeded);
}

/** `next` becomes `current`, and `current` the one that signed before. */
const keySetAfter = async (current: KeySet | undefined): Promise<KeySet> =>
  current
    ? { next: await newSigningKey(), current: current.next, previous: v.parse(publicJwk, current.current) }
    : newKeySet();

async function pendingKeySet({ SecretId, ClientRequestToken }: RotationStep): Promise<KeySet> {
  const pending = parseKeySet((await readPendingSecret(SecretId, ClientRequestToken)) ?? '');
  if (!pending) throw new Error('The rotation has prepared no key set.');
  return pending;
}

/** A key set, or undefined for a secret that holds none yet. */
function parseKeySet(secret: string): KeySet | undefined {
  const result = v.safeParse(v.pipe(v.string(), v.parseJson(), keySet), secret);
  return result.success ? result.output : undefined;
}
