import { CompactSign, compactVerify, importJWK } from 'jose';
import * as v from 'valibot';
import { epochSeconds } from '../clock.ts';
import { environment } from '../environment.ts';
import { logEvent } from '../log.ts';
import { makeCurrent, putPendingSecret, readPendingSecret, readSecret } from '../storage/secrets.ts';
import { accessTokenLifetime } from './access-token-lifetime.ts';
import { type KeySet, keySet, keySetAfter, newKeySet, signingKeyFreshFor, signingKeysOf } from './key-set.ts';
import { publishKeys, readPublishedKeys } from './public-keys.ts';
import { tokenAlgorithms } from './token-algorithm.ts';

const algorithmSetting = environment('TOKEN_ALGORITHM');
const algorithmSchema = v.picklist(
  tokenAlgorithms,
  `The environment variable TOKEN_ALGORITHM must be ${tokenAlgorithms.join(' or ')}.`,
);

/** What Secrets Manager calls a rotation function with, four times per rotation. @see AWS Secrets Manager user guide, "Lambda rotation functions" */
export const rotationStep = v.object({
  SecretId: v.string(),
  /** The id of the version that this rotation makes. */
  ClientRequestToken: v.string(),
  Step: v.picklist(['createSecret', 'setSecret', 'testSecret', 'finishSecret']),
});
type RotationStep = v.InferOutput<typeof rotationStep>;

/** For how long a function may still read the key set before a rotation: Secrets Manager is eventually consistent. */
const staleReadSeconds = 60;

/** Carries out one step of a rotation. A step that comes again changes nothing. */
export const rotateSigningKeys = (step: RotationStep): Promise<void> => steps[step.Step](step);

const steps: Record<RotationStep['Step'], (step: RotationStep) => Promise<void>> = {
  /**
   * Prepares the key set that follows the current one. Its public keys are published first, so that every token can be
   * verified before one is signed, and so that the notice that a key of another algorithm needs begins with it. The key
   * that signs until the last step gets no end yet, since that step may come late.
   */
  async createSecret({ SecretId, ClientRequestToken }) {
    if (await readPendingSecret(SecretId, ClientRequestToken)) return;
    const set = parseKeySet(await readSecret(SecretId));
    const algorithm = v.parse(algorithmSchema, algorithmSetting());
    const following = await (set ? keySetAfter(set, algorithm) : newKeySet(algorithm));
    await publishAll([following, ...(set ? [set] : [])]);
    await putPendingSecret(SecretId, ClientRequestToken, JSON.stringify(following));
  },

  /** Does nothing: the keys are needed only in the table, where they are already. */
  async setSecret() {},

  /** Signs with each prepared key and verifies with what was published. */
  async testSecret(step) {
    const { current, next } = await pendingKeySet(step);
    const published = await readPublishedKeys();
    const message = new TextEncoder().encode(step.ClientRequestToken);
    for (const jwk of [current, next]) {
      const { key } = published.find(({ key: { kid } }) => kid === jwk.kid) ?? {};
      if (!key) throw new Error('A key that is to sign is not published.');
      const signature = new CompactSign(message).setProtectedHeader({ alg: jwk.alg });
      await compactVerify(await signature.sign(await importJWK(jwk)), await importJWK(key));
    }
  },

  /**
   * Makes the prepared key set the current one. From now on the keys that no longer sign are published for as long as
   * their tokens are valid. The key set is read by its version: the current one may still be the one before.
   */
  async finishSecret({ SecretId, ClientRequestToken }) {
    await makeCurrent(SecretId, ClientRequestToken);
    const current = parseKeySet(await readSecret(SecretId, ClientRequestToken));
    if (!current) throw new Error('The secret holds no key set.');
    await publishAll([current]);
    logEvent('signing_keys_rotated', { kid: current.current.kid });
  },
};

/** Publishes the keys that sign, or will. Every other published key stays for as long as its tokens may be valid. */
async function publishAll(sets: KeySet[]): Promise<void> {
  const signing = new Map(sets.flatMap(signingKeysOf).map((key) => [key.kid, { key }]));
  const end = epochSeconds() + staleReadSeconds + signingKeyFreshFor / 1000 + accessTokenLifetime();
  const retired = (await readPublishedKeys())
    .map(({ key, keep_until = end }) => ({ key, keep_until }))
    .filter(({ key, keep_until }) => !signing.has(key.kid) && keep_until > epochSeconds());
  await publishKeys([...signing.values(), ...retired]);
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
