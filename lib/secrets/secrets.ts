import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import { timestamp } from '../foundation/clock.ts';
import { newId } from '../foundation/ids.ts';

/** A secret in the table: its SHA-256. A random 256-bit secret needs no slow password hash. */
const storedSecretSchema = v.object({
  secret_id: v.string(),
  sha256: v.string(),
  created_at: v.string(),
});
export type StoredSecret = v.InferOutput<typeof storedSecretSchema>;

/** Attributes of an item with secrets. Each change sets a new version. */
export const secretAttributes = {
  secrets: v.array(storedSecretSchema),
  secrets_version: v.string(),
};
export type WithSecrets = { secrets: StoredSecret[]; secrets_version: string };

/** 256 random bits, URL-safe, after a prefix for secret scanners: `lcs_…` */
export const newSecret = (prefix: string): string =>
  `${prefix}_${randomBytes(32).toString('base64url')}`;

export const sha256 = (text: string): string => hash('sha256', text, 'base64url');

export const newSecretsVersion = (): string => newId('v');

export const firstSecret = (secret: string): WithSecrets => ({
  secrets: [storeSecret(secret)],
  secrets_version: newSecretsVersion(),
});

export const storeSecret = (secret: string): StoredSecret => ({
  secret_id: newId('sec'),
  sha256: sha256(secret),
  created_at: timestamp(),
});

export const equalInConstantTime = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));

/** Whether a secret is one of the stored ones. Compares all of them, in constant time. */
export function matchesAny(presented: string, stored: StoredSecret[]): boolean {
  const digest = sha256(presented);
  return stored.map(({ sha256 }) => equalInConstantTime(digest, sha256)).includes(true);
}
