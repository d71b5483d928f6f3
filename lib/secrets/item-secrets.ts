// A file of its own, since functions that only compare secrets need no storage.

import { invalid, ServiceError } from '../foundation/service-error.ts';
import { type ItemKey, updateItem } from '../storage/items.ts';
import {
  newSecret,
  newSecretsVersion,
  type StoredSecret,
  storeSecret,
  type WithSecrets,
} from './secrets.ts';

export const shownSecret = ({ secret_id, created_at }: StoredSecret) => ({ secret_id, created_at });

/** A new secret, and the old one until it is revoked. */
const mostSecrets = 2;

/**
 * Adds a secret to an item.
 * @throws ServiceError if there are two, or somebody else changes them meanwhile
 */
export async function rotateSecretOf(
  key: ItemKey<unknown, WithSecrets>,
  stored: WithSecrets,
  prefix: string,
) {
  if (stored.secrets.length >= mostSecrets)
    throw invalid(`There are two secrets already (${idsOf(stored)}); revoke one first.`);
  const secret = newSecret(prefix);
  await replaceCredentials(key, stored, { secrets: [...stored.secrets, storeSecret(secret)] });
  return { secret, old_secrets: stored.secrets.map(shownSecret) };
}

/**
 * Removes a secret from an item.
 * @param needsOne whether the last one must stay
 * @returns the others
 * @throws ServiceError if there is no such secret, it must stay, or somebody else changes them
 *   meanwhile
 */
export async function revokeSecretOf(
  key: ItemKey<unknown, WithSecrets>,
  stored: WithSecrets,
  secretId: string,
  { needsOne = true } = {},
) {
  const kept = stored.secrets.filter(({ secret_id }) => secret_id !== secretId);
  if (kept.length === stored.secrets.length)
    throw new ServiceError(
      'not_found',
      `There is no such secret. Existing secrets: ${idsOf(stored)}.`,
    );
  if (needsOne && kept.length === 0)
    throw invalid(`${idsOf(stored)} is the only secret; rotate first.`);
  await replaceCredentials(key, stored, { secrets: kept });
  return { secrets: kept.map(shownSecret) };
}

const idsOf = ({ secrets }: WithSecrets): string =>
  secrets.map(({ secret_id }) => secret_id).join(', ');

/**
 * Replaces secrets, or credentials with the same version.
 * @throws ServiceError if somebody else was faster
 */
export async function replaceCredentials<Written extends WithSecrets>(
  key: ItemKey<unknown, Written>,
  stored: WithSecrets,
  credentials: Partial<NoInfer<Written>>,
): Promise<void> {
  const { done } = await updateItem<WithSecrets>(key, {
    set: { ...credentials, secrets_version: newSecretsVersion() },
    when: { secrets_version: { is: stored.secrets_version } },
  });
  if (!done)
    throw invalid(
      'Somebody else changed the secrets meanwhile; nothing was changed. Run the command again.',
    );
}
