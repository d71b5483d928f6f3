import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import {
  type ServiceKeys,
  type ServiceSecret,
  serviceKeysFor,
  serviceKeysFrom,
} from '../../secrets/service-secret.ts';

const purpose = 'provider-settings';
// Pure, so that a bundle without encryptSecrets and decryptSecrets doesn't want the secret.
const serviceKeys = /* @__PURE__ */ serviceKeysFor(purpose, 'PROVIDER_SETTINGS_SECRET_ID');

/**
 * The Login App and the provider of settings. Secrets encrypted for one place cannot be decrypted
 * for another.
 */
interface SettingsPlace {
  loginAppId: string;
  provider: string;
}

export interface StoredSettings {
  place: SettingsPlace;
  settings: object;
}

/** Settings with every secret (a field named `…_secret`) encrypted by AES-256-GCM. */
export const encryptSecrets = async (settings: object, place: SettingsPlace) =>
  encryptWith(await serviceKeys(), settings, place);

function encryptWith(
  { current: { id, key } }: ServiceKeys,
  settings: object,
  place: SettingsPlace,
) {
  return mapSecrets(settings, (secret, path) => {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(additionalData(place, path));
    const encrypted = [nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return `${id}.${Buffer.concat(encrypted).toString('base64url')}`;
  });
}

/**
 * Settings with every secret decrypted.
 * @throws Error for settings that are not ours, or from another place
 */
export const decryptSecrets = async (settings: object, place: SettingsPlace) =>
  decryptWith(await serviceKeys(), settings, place);

function decryptWith(keys: ServiceKeys, settings: object, place: SettingsPlace) {
  return mapSecrets(settings, (text, path) => {
    const [keyId = '', encoded = ''] = text.split('.');
    const key = keys.withId(keyId)?.key;
    if (!key) throw new Error('The provider settings are encrypted with a key that is gone.');
    const bytes = Buffer.from(encoded, 'base64url');
    const nonce = bytes.subarray(0, 12);
    // Rejects a tag that was cut short.
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 })
      .setAAD(additionalData(place, path))
      .setAuthTag(bytes.subarray(-16));
    return decipher.update(bytes.subarray(12, -16), undefined, 'utf8') + decipher.final('utf8');
  });
}

/**
 * Settings encrypted with the current key of a secret: undefined if they already are, `unreadable`
 * if no key decrypts them.
 */
export function reencryptSecrets(settings: object, place: SettingsPlace, secret: ServiceSecret) {
  const keys = serviceKeysFrom(secret, purpose);
  let isCurrent = true;
  mapSecrets(settings, (text) => {
    isCurrent &&= text.startsWith(`${keys.current.id}.`);
    return text;
  });
  if (isCurrent) return undefined;
  try {
    return encryptWith(keys, decryptWith(keys, settings, place), place);
  } catch {
    return 'unreadable';
  }
}

export const maskSecrets = (settings: object): object => mapSecrets(settings, () => '********');
export const withoutSecrets = (settings: object): object => mapSecrets(settings, () => undefined);

const additionalData = ({ loginAppId, provider }: SettingsPlace, path: string): Buffer =>
  Buffer.from(JSON.stringify([loginAppId, provider, path]));

/**
 * Replaces each secret, however deep, also in lists. `path` is its place:
 * `issuers.0.code_exchange.client_secret`.
 */
function mapSecrets(
  settings: object,
  replace: (secret: string, path: string) => string | undefined,
) {
  const mapped = (value: unknown, path: string[]): unknown => {
    if (Array.isArray(value))
      return value.map((one, place) => mapped(one, [...path, String(place)]));
    if (typeof value === 'object' && value !== null) return mappedObject(value, path);
    const isSecret = typeof value === 'string' && path.at(-1)?.endsWith('_secret');
    return isSecret ? replace(value, path.join('.')) : value;
  };
  const mappedObject = (object: object, path: string[]): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(object).map(([name, value]) => [name, mapped(value, [...path, name])]),
    );
  return mappedObject(settings, []);
}
