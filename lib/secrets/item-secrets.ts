// Apart from the secrets themselves, so that a function which only compares secrets doesn't bundle the storage.

import { ServiceError } from '../foundation/service-error.ts';
import { type ItemKey, updateItem } from '../storage/items.ts';
import { newSecret, newSecretsVersion, type StoredSecret, storeSecret, type WithSecrets } from './secrets.ts';

/** The most secrets that are valid side by side: a new one, and the old one until it is revoked. */
const mostSecrets = 2;

export const shownSecret = ({ secret_id, created_at }: StoredSecret) => ({ secret_id, created_at });

/**
 * Adds a new secret to an item; the old one stays valid until it is revoked.
 * @throws ServiceError when there are two already, or somebody else has changed them meanwhile
 */
export async function rotateSecretOf(
  key: ItemKey<unknown, WithSecrets>,
  stored: WithSecrets,
  prefix: string,
) {
  if (stored.secrets.length >= mostSecrets)
    throw new ServiceError(
      'invalid_request',
      `There are two secrets already (${idsOf(stored)}); revoke one first.`,
    );
  const secret = newSecret(prefix);
  await replaceSecrets(key, stored, [...stored.secrets, storeSecret(secret)]);
  return { secret, old_secrets: stored.secrets.map(shownSecret) };
}

/**
 * Takes one of its secrets away from an item.
 * @returns the secrets that are left
 * @throws ServiceError when none has the id, it is the only one, or somebody else has changed them meanwhile
 */
export async function revokeSecretOf(
  key: ItemKey<unknown, WithSecrets>,
  stored: WithSecrets,
  secretId: string,
) {
  const kept = stored.secrets.filter(({ secret_id }) => secret_id !== secretId);
  if (kept.length === stored.secrets.length)
    throw new ServiceError('not_found', `There is no such secret. Existing secrets: ${idsOf(stored)}.`);
  if (kept.length === 0)
    throw new ServiceError('invalid_request', `${idsOf(stored)} is the only secret; rotate first.`);
  await replaceSecrets(key, stored, kept);
  return { secrets: kept.map(shownSecret) };
}

const idsOf = ({ secrets }: WithSecrets): string => secrets.map(({ secret_id }) => secret_id).join(', ');

async function replaceSecrets(
  key: ItemKey<unknown, WithSecrets>,
  stored: WithSecrets,
  secrets: StoredSecret[],
): Promise<void> {
  const { done } = await updateItem(key, {
    set: { secrets, secrets_version: newSecretsVersion() },
    when: { secrets_version: { is: stored.secrets_version } },
  });
  if (!done) {
    const message =
      'Somebody else changed the secrets meanwhile; nothing was changed. Run the command again.';
    throw new ServiceError('invalid_request', message);
  }
}
