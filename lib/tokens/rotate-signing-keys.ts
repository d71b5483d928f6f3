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
  publicJwk,
  publishedKeysOf,
  signingKeyFreshFor,
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

/** Carries out one step of a rotation. Each may come again, and then changes nothing. */
export const rotateSigningKeys = (step: RotationStep): Promise<void> => steps[step.Step](step);

const steps: Record<RotationStep['Step'], (step: RotationStep) => Promise<void>> = {
  /** Prepares the key set that follows the current one. */
  async createSecret({ SecretId, ClientRequestToken }) {
    if (await readPendingSecret(SecretId, ClientRequestToken)) return;
    const following = await keySetAfter(parseKeySet(await readSecret(SecretId)));
    await putPendingSecret(SecretId, ClientRequestToken, JSON.stringify(following));
  },

  /** Publishes its public keys, so that every token it will sign can be verified before it signs one. */
  async setSecret(step) {
    await publishKeys(publishedKeysOf(await pendingKeySet(step)));
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

  /** Lets it sign. */
  async finishSecret(step) {
    await makeCurrent(step.SecretId, step.ClientRequestToken);
    logEvent('signing_keys_rotated', { kid: (await currentKeySet(step)).current.kid });
  },
};

/** `next` becomes `current`; the one that signed until now is kept for as long as its tokens are valid. */
async function keySetAfter(current: KeySet | undefined): Promise<KeySet> {
  if (!current) return newKeySet();
  const now = epochSeconds();
  const keep_until = now + signingKeyFreshFor / 1000 + accessTokenLifetime;
  return {
    next: await newSigningKey(),
    current: current.next,
    previous: [
      { key: v.parse(publicJwk, current.current), keep_until },
      ...current.previous.filter((previous) => (previous.keep_until ?? 0) > now),
    ],
  };
}

async function currentKeySet({ SecretId }: RotationStep): Promise<KeySet> {
  const current = parseKeySet(await readSecret(SecretId));
  if (!current) throw new Error('The secret holds no key set.');
  return current;
}

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
