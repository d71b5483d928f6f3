import { Refusal } from '../../refusal.ts';
import { type StoredSecret, withNewSecret } from '../../secrets.ts';
import { updateItem } from '../../storage/items.ts';
import type { Key } from '../../storage/keys.ts';

/** What is told of a secret that exists already. */
const shown = ({ secret_id, created_at }: StoredSecret) => ({ secret_id, created_at });

/** Gives whatever a key stands for a new secret beside the old one. @throws Refusal when it has two */
export async function rotateSecret(
  key: Key,
  stored: StoredSecret[],
  prefix: string,
): Promise<{ secret: string; old_secrets: object[] }> {
  const rotated = withNewSecret(stored, prefix);
  if (!rotated)
    throw new Refusal('invalid_request', 'There are two secrets already; revoke the old one first.');
  await replaceSecrets(key, stored, rotated.secrets);
  return { secret: rotated.secret, old_secrets: stored.map(shown) };
}

/** Takes one secret away. @throws Refusal when there is no such secret, or no other one */
export async function revokeSecret(
  key: Key,
  stored: StoredSecret[],
  secretId: string,
): Promise<{ secrets: object[] }> {
  const kept = stored.filter(({ secret_id }) => secret_id !== secretId);
  if (kept.length === stored.length) throw new Refusal('not_found', 'There is no such secret.');
  if (kept.length === 0) throw new Refusal('invalid_request', 'This is the only secret; rotate first.');
  await replaceSecrets(key, stored, kept);
  return { secrets: kept.map(shown) };
}

/** Only if nobody else has changed them meanwhile. */
async function replaceSecrets(key: Key, stored: StoredSecret[], secrets: StoredSecret[]): Promise<void> {
  const { done } = await updateItem(key, { set: { secrets }, when: { secrets: { is: stored } } });
  if (!done)
    throw new Refusal('invalid_request', 'The secrets were changed meanwhile; nothing was changed now.');
}
