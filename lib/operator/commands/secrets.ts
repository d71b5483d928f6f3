import { ServiceError } from '../../foundation/service-error.ts';
import type { RevokedSecret, RotatedSecrets } from '../../secrets/item-secrets.ts';
import type { WithSecrets } from '../../secrets/secrets.ts';

const changed = 'Somebody else changed the secrets meanwhile; nothing was changed. Run the command again.';

const idsOf = ({ secrets }: WithSecrets): string => secrets.map(({ secret_id }) => secret_id).join(', ');

/** A rotation that was done. @throws ServiceError when it was not */
export function rotatedOrThrow(
  outcome: RotatedSecrets,
  before: WithSecrets,
): Exclude<RotatedSecrets, string> {
  if (typeof outcome === 'object') return outcome;
  const tooMany = `There are two secrets already (${idsOf(before)}); revoke one first.`;
  throw new ServiceError('invalid_request', outcome === 'too_many' ? tooMany : changed);
}

/** A revocation that was done. @throws ServiceError when it was not */
export function revokedOrThrow(outcome: RevokedSecret, before: WithSecrets): Exclude<RevokedSecret, string> {
  if (typeof outcome === 'object') return outcome;
  if (outcome === 'unknown')
    throw new ServiceError('not_found', `There is no such secret. Existing secrets: ${idsOf(before)}.`);
  const only = `${idsOf(before)} is the only secret; rotate first.`;
  throw new ServiceError('invalid_request', outcome === 'only' ? only : changed);
}
