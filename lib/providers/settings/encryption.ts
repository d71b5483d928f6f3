import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import {
  type ServiceKeys,
  type ServiceSecret,
  serviceKeysFor,
  serviceKeysFrom,
} from '../../secrets/service-secret.ts';

const purpose = 'provider-settings';
// Pure, so that a bundle that only reads or writes the item doesn't want the secret.
const serviceKeys = /* @__PURE__ */ serviceKeysFor(purpose, 'PROVIDER_SETTINGS_SECRET_ID');

/** The Login App and the provider that settings belong to. Secrets encrypted for one place cannot be decrypted for another. */
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

function encryptWith({ current: { id, key } }: ServiceKeys, settings: object, place: SettingsPlace) {
  return mapSecrets(settings, (secret, path) => {
    const nonce = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(additionalData(place, path));
    const encrypted = [nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()];
    return `${id}.${Buffer.concat(encrypted).toString('base64url')}`;
  });
}

/** Settings as they were before they were encrypted. @throws Error when they are not ours, or from another place */
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
 * Settings encrypted again with the current key of a secret; undefined if they are already, and `unreadable` if they are
 * not ours, or from another place.
 */
export function reencryptSecrets({ settings, place }: StoredSettings, secret: ServiceSecret) {
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

/** Replaces each secret of the settings, however deep, also in lists; `path` is where it stands. */
function mapSecrets(
  settings: object,
  replace: (secret: string, path: string) => string | undefined,
  path = '',
): Record<string, unknown> {
  const mapped = (value: unknown, at: string): unknown => {
    if (Array.isArray(value)) return value.map((one, place) => mapped(one, `${at}.${place}`));
    return typeof value === 'object' && value !== null ? mapSecrets(value, replace, at) : value;
  };
  const entries = Object.entries(settings).map(([name, value]: [string, unknown]) => {
    const at = path ? `${path}.${name}` : name;
    const isSecret = typeof value === 'string' && name.endsWith('_secret');
    return [name, isSecret ? replace(value, at) : mapped(value, at)];
  });
  return Object.fromEntries(entries);
}
