// Apart from the secrets themselves, so that a function which only compares secrets doesn't bundle the storage.

import { type ItemKey, updateItem } from '../storage/items.ts';
import { newSecretsVersion, type StoredSecret, type WithSecrets, withNewSecret } from './secrets.ts';

type ShownSecret = Pick<StoredSecret, 'secret_id' | 'created_at'>;

export const shownSecret = ({ secret_id, created_at }: StoredSecret): ShownSecret => ({
  secret_id,
  created_at,
});

/** A new secret and the old ones, or why there is none: there are two already, or somebody else changed them meanwhile. */
export type RotatedSecrets = { secret: string; old_secrets: ShownSecret[] } | 'too_many' | 'changed';

/** The secrets that are left, or why none was revoked: none has the id, it is the only one, or somebody else changed them meanwhile. */
export type RevokedSecret = { secrets: ShownSecret[] } | 'unknown' | 'only' | 'changed';

/** Adds a new secret to an item; the old one stays valid. */
export async function rotateSecretOf(
  key: ItemKey<unknown, WithSecrets>,
  stored: WithSecrets,
  prefix: string,
): Promise<RotatedSecrets> {
  const rotated = withNewSecret(stored.secrets, prefix);
  if (!rotated) return 'too_many';
  if (!(await replaceSecrets(key, stored, rotated.secrets))) return 'changed';
  return { secret: rotated.secret, old_secrets: stored.secrets.map(shownSecret) };
}

export async function revokeSecretOf(
  key: ItemKey<unknown, WithSecrets>,
  stored: WithSecrets,
  secretId: string,
): Promise<RevokedSecret> {
  const kept = stored.secrets.filter(({ secret_id }) => secret_id !== secretId);
  if (kept.length === stored.secrets.length) return 'unknown';
  if (kept.length === 0) return 'only';
  return (await replaceSecrets(key, stored, kept)) ? { secrets: kept.map(shownSecret) } : 'changed';
}

/** False when somebody else has changed them meanwhile. */
async function replaceSecrets(
  key: ItemKey<unknown, WithSecrets>,
  stored: WithSecrets,
  secrets: StoredSecret[],
): Promise<boolean> {
  const { done } = await updateItem(key, {
    set: { secrets, secrets_version: newSecretsVersion() },
    when: { secrets_version: { is: stored.secrets_version } },
  });
  return done;
}
