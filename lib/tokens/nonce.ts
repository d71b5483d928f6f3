import { createHmac, type KeyObject, randomBytes } from 'node:crypto';
import { epochSeconds } from '../foundation/clock.ts';
import { equalInConstantTime } from '../secrets/secrets.ts';
import { serviceKeysFor } from '../secrets/service-secret.ts';

const serviceKeys = serviceKeysFor('nonce', 'REFRESH_TOKENS_SECRET_ID');

/** Seconds for which a nonce can be used, by what it is for. */
export const nonceLifetimes = { login: 600, proof: 300 };
type Use = keyof typeof nonceLifetimes;

const nonceForm = /^(ln\.(\d{10})\.[\w-]{22}\.([\w-]{8}))\.([\w-]{43})$/;

/**
 * A nonce: `ln.EXPIRES_AT.RANDOM.KEY_ID.MAC`. The MAC covers what it is for, too, so nothing is stored until it is used.
 * @param whose the Login App or the like, in which alone it is valid
 */
export async function newNonce(use: Use, whose: string): Promise<string> {
  const { id, key } = (await serviceKeys()).current;
  const expires = epochSeconds() + nonceLifetimes[use];
  const text = `ln.${expires}.${randomBytes(16).toString('base64url')}.${id}`;
  return `${text}.${mac(use, whose, text, key)}`;
}

/** Whether a text has the form of a nonce of the service, which no app's own has. */
export const isServiceNonce = (text: string): boolean => nonceForm.test(text);

/** Epoch seconds at which a nonce expires; undefined unless the service made it for this use, and it is still valid. */
export async function endOfNonce(use: Use, whose: string, nonce: string): Promise<number | undefined> {
  const [, text = '', expires, keyId = '', presented = ''] = nonce.match(nonceForm) ?? [];
  const key = (await serviceKeys()).withId(keyId)?.key;
  if (!key || !equalInConstantTime(presented, mac(use, whose, text, key))) return undefined;
  return Number(expires) > epochSeconds() ? Number(expires) : undefined;
}

const mac = (use: Use, whose: string, text: string, key: KeyObject): string =>
  createHmac('sha256', key).update(`${use} ${whose} ${text}`).digest('base64url');
