import { Refusal } from '../../refusal.ts';
import { newSecretsVersion, type StoredSecret, type WithSecrets, withNewSecret } from '../../secrets.ts';
import { updateItem } from '../../storage/items.ts';
import type { Key } from '../../storage/keys.ts';

/** What is told of a secret that exists already. */
const shown = ({ secret_id, created_at }: StoredSecret) => ({ secret_id, created_at });

/** Gives whatever a key stands for a new secret beside the old one. @throws Refusal when it has two */
export async function rotateSecret(
  key: Key,
  stored: WithSecrets,
  prefix: string,
): Promise<{ secret: string; old_secrets: object[] }> {
  const rotated = withNewSecret(stored.secrets, prefix);
  if (!rotated)
    throw new Refusal('invalid_request', 'There are two secrets already; revoke the old one first.');
  await replaceSecrets(key, stored, rotated.secrets);
  return { secret: rotated.secret, old_secrets: stored.secrets.map(shown) };
}

/** Takes one secret away. @throws Refusal when there is no such secret, or no other one */
export async function revokeSecret(
  key: Key,
  stored: WithSecrets,
  secretId: string,
): Promise<{ secrets: object[] }> {
  const kept = stored.secrets.filter(({ secret_id }) => secret_id !== secretId);
  if (kept.length === stored.secrets.length) throw new Refusal('not_found', 'There is no such secret.');
  if (kept.length === 0) throw new Refusal('invalid_request', 'This is the only secret; rotate first.');
  await replaceSecrets(key, stored, kept);
  return { secrets: kept.map(shown) };
}

/** Only if nobody else has changed them meanwhile. */
async function replaceSecrets(key: Key, stored: WithSecrets, secrets: StoredSecret[]): Promise<void> {
  const { done } = await updateItem(key, {
    set: { secrets, secrets_version: newSecretsVersion() },
    when: { secrets_version: { is: stored.secrets_version } },
  });
  if (!done)
    throw new Refusal('invalid_request', 'The secrets were changed meanwhile; nothing was changed now.');
}
